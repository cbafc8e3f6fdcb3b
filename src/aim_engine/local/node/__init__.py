"""The node agent: registers nodes with AMD GPUs and runs the pods that the scheduler binds to them as processes."""
