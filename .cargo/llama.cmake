# Read by CMake right after llama.cpp's project(): see config.toml beside it.
set(LLAMA_BUILD_COMMON OFF)
