//! The pool and the map from outside.

#[cfg(feature = "std")]
mod map_props;
#[cfg(feature = "std")]
mod map_threads;
mod pool_props;
