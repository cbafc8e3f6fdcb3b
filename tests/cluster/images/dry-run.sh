#!/bin/sh
# What an AIM image prints when it is asked which profile it would run.
echo "looking for a profile [1 of 1]"
cat <<JSON
[{"filename": "vllm.yaml",
  "profile": {"model": "acme/tiny-chat", "quantized_model": "acme/tiny-chat-fp8",
    "metadata": {"engine": "vllm", "gpu": "${AIM_GPU_MODEL:-MI300X}", "gpu_count": ${AIM_GPU_COUNT:-1},
      "precision": "${AIM_PRECISION:-fp8}", "metric": "${AIM_METRIC:-latency}", "type": "optimized"},
    "engine_args": {"tensor-parallel-size": 1}, "env_vars": {"VLLM_USE_V1": "1"}},
  "models": [{"name": "acme/tiny-chat-fp8", "source": "hf://acme/tiny-chat-fp8", "size_gb": 0.5}]}]
JSON
echo "done [ok]"
