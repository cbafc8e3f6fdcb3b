"""The operator runtime: connection, client, informers, queue, controllers, leases, events. It knows nothing of AIM."""
