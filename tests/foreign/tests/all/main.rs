//! Programs that know nothing of us, each on a driver of its own.

mod conformance;
mod containers;
mod documents;
mod lanes;
mod library;
mod manager;
mod preloaded;
mod raw_c;
mod recovery;
mod rsbinder;
mod supervised;
