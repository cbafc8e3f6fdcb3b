"""Small programs with the same interface as a part that cannot run on one machine; nothing else imports them."""
