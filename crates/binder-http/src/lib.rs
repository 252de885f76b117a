//! Pages that a running program shows of itself over HTTP.
//!
//! [`serve`] accepts connections, few at a time and none for long, and gives their requests to a router. [`OwnHost`] says
//! which of these are meant for this server, and were not made by a page of another. With both, [`MetricsListener`]
//! serves a page of figures, [`MetricFamilies`], which are collected when Prometheus asks for them.

#![forbid(unsafe_code)]

mod families;
mod host;
mod metrics;
mod server;

pub use families::{HistogramSample, MetricFamilies, SampleList, SampleValue};
pub use host::OwnHost;
pub use metrics::{MetricsListener, parse_metrics_address};
pub use server::serve;

/// The types of its interface that users of this crate name.
pub use axum;
