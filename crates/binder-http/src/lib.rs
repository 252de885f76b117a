//! Pages that a running program shows of itself over HTTP.
//!
//! [`serve`] accepts connections, few at a time and none for long, and gives their requests to a router. [`OwnHost`] says
//! which of these are meant for this server, and no page of another's has made. With both, [`MetricsListener`] serves a
//! page of figures: [`MetricFamilies`], taken down when Prometheus, or whoever reads its format, asks for them.

#![forbid(unsafe_code)]

mod families;
mod host;
mod metrics;
mod server;

pub use families::{HistogramSample, MetricFamilies, SampleList, SampleValue};
pub use host::OwnHost;
pub use metrics::{MetricsListener, parse_metrics_address};
pub use server::serve;

/// What of the server its users name.
pub use axum;
