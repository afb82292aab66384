//! The two forms of the long searches: `cargo test` runs the quick one, `MONOLITH_DEEP=1 cargo test` the deep one (docs/design/gate.md).

/// Returns the bound of the form that runs.
pub fn bound<T>(quick: T, deep: T) -> T {
    if is_deep() { deep } else { quick }
}

/// True if the environment asks for the deep form.
pub fn is_deep() -> bool {
    std::env::var_os("MONOLITH_DEEP").is_some_and(|value| value == "1")
}
