//! Figures of one moment, in families: a name, what it means, and samples that differ in their labels.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

/// The figures of a page, of one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MetricFamilies(Vec<MetricFamily>);

#[derive(Debug, Clone, PartialEq)]
struct MetricFamily {
    /// A counter's is without `_total`, which its samples have.
    name: &'static str,
    help: &'static str,
    kind: MetricKind,
    samples: SampleList,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MetricKind {
    Gauge,
    Counter,
    Histogram,
}

/// The samples of a family.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SampleList(Vec<(Labels, SampleValue)>);

/// Names and values.
type Labels = Vec<(&'static str, String)>;

/// The value of a sample.
#[derive(Debug, Clone, PartialEq)]
pub enum SampleValue {
    /// A count.
    Whole(u64),
    /// A measurement.
    Real(f64),
    /// Counts by size.
    Histogram(HistogramSample),
}

/// How often a measurement fell into each class.
#[derive(Debug, Clone, PartialEq)]
pub struct HistogramSample {
    /// All of them together.
    pub sum: f64,
    /// Upper bounds, ascending, of which the last is infinite, and how many there were above the one before.
    pub buckets: Vec<(f64, u64)>,
}

impl From<u64> for SampleValue {
    fn from(whole: u64) -> Self {
        Self::Whole(whole)
    }
}

impl From<u32> for SampleValue {
    fn from(whole: u32) -> Self {
        Self::Whole(whole.into())
    }
}

impl From<usize> for SampleValue {
    fn from(whole: usize) -> Self {
        // No machine of today's has more.
        Self::Whole(whole as u64)
    }
}

impl From<f64> for SampleValue {
    fn from(real: f64) -> Self {
        Self::Real(real)
    }
}

impl MetricFamilies {
    /// Adds a family of gauges. The name of a measurement ends with its unit, a base unit as `_seconds` or `_bytes`.
    pub fn gauge(&mut self, name: &'static str, help: &'static str) -> &mut SampleList {
        self.add(name, help, MetricKind::Gauge)
    }

    /// Adds a family of counters, which never decrease. The name that Prometheus reads ends with `_total`; this one does
    /// not.
    pub fn counter(&mut self, name: &'static str, help: &'static str) -> &mut SampleList {
        self.add(name, help, MetricKind::Counter)
    }

    /// Adds a family of [`SampleValue::Histogram`].
    pub fn histogram(&mut self, name: &'static str, help: &'static str) -> &mut SampleList {
        self.add(name, help, MetricKind::Histogram)
    }

    fn add(&mut self, name: &'static str, help: &'static str, kind: MetricKind) -> &mut SampleList {
        self.0.push(MetricFamily { name, help, kind, samples: SampleList::default() });
        let added = self.0.last_mut().expect("one was added");
        &mut added.samples
    }

    /// The text, in the format OpenMetrics 1.0.
    pub fn to_open_metrics(&self) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self.clone()));
        let mut text = String::new();
        // Only a writer fails, and a string does not.
        let _ = text::encode(&mut text, &registry);
        text
    }

    /// The text in Prometheus' own format 0.0.4, for readers that do not ask for the newer one. There the name of a family
    /// of counters is that of its samples.
    pub fn to_prometheus(&self) -> String {
        let mut text = String::new();
        for line in self.to_open_metrics().lines().filter(|line| *line != "# EOF") {
            match self.counter_in_comment(line) {
                Some((before, name, after)) => {
                    text.extend([before, name, "_total", after]);
                }
                None => text.push_str(line),
            }
            text.push('\n');
        }
        text
    }

    /// Takes the line apart that describes a family of counters.
    fn counter_in_comment<'l>(&self, line: &'l str) -> Option<(&'l str, &'l str, &'l str)> {
        let words = line.strip_prefix("# HELP ").or_else(|| line.strip_prefix("# TYPE "))?;
        let name = words.split(' ').next()?;
        let of_it =
            |family: &MetricFamily| family.name == name && family.kind == MetricKind::Counter;
        self.0.iter().any(of_it).then(|| {
            let start = line.len() - words.len();
            let (before, rest) = line.split_at(start);
            let (name, after) = rest.split_at(name.len());
            (before, name, after)
        })
    }
}

impl SampleList {
    /// Adds a sample.
    pub fn add(&mut self, labels: &[(&'static str, &str)], value: impl Into<SampleValue>) {
        let labels = labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        self.0.push((labels, value.into()));
    }
}

impl Collector for MetricFamilies {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        for MetricFamily { name, help, kind, samples } in &self.0 {
            if samples.0.is_empty() {
                continue;
            }
            let kind_word = match kind {
                MetricKind::Gauge => MetricType::Gauge,
                MetricKind::Counter => MetricType::Counter,
                MetricKind::Histogram => MetricType::Histogram,
            };
            let mut family = encoder.encode_descriptor(name, help, None, kind_word)?;
            for (labels, value) in &samples.0 {
                if labels.is_empty() {
                    encode_sample(*kind, value, &mut family)?;
                } else {
                    encode_sample(*kind, value, &mut family.encode_family(labels)?)?;
                }
            }
        }
        Ok(())
    }
}

fn encode_sample(
    kind: MetricKind,
    value: &SampleValue,
    encoder: &mut MetricEncoder<'_>,
) -> fmt::Result {
    match (kind, value) {
        (MetricKind::Gauge, SampleValue::Whole(whole)) => encoder.encode_gauge(whole),
        (MetricKind::Gauge, SampleValue::Real(real)) => encoder.encode_gauge(real),
        (MetricKind::Counter, SampleValue::Whole(whole)) => {
            encoder.encode_counter::<NoLabelSet, _, u64>(whole, None)
        }
        (MetricKind::Counter, SampleValue::Real(real)) => {
            encoder.encode_counter::<NoLabelSet, _, f64>(real, None)
        }
        (MetricKind::Histogram, SampleValue::Histogram(HistogramSample { sum, buckets })) => {
            let count = buckets.iter().map(|(_, count)| count).sum();
            encoder.encode_histogram::<NoLabelSet>(*sum, count, buckets, None)
        }
        (MetricKind::Gauge | MetricKind::Counter, SampleValue::Histogram(_))
        | (MetricKind::Histogram, SampleValue::Whole(_) | SampleValue::Real(_)) => {
            debug_assert!(false, "a family has samples of its kind");
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn families() -> MetricFamilies {
        let mut families = MetricFamilies::default();
        let calls = families.counter("shop_calls", "Calls, by \"kind\".");
        calls.add(&[("kind", "a\"b\\c\nd")], 3_u64);
        calls.add(&[("kind", "plain"), ("door", "1")], 4_u32);
        families.gauge("shop_empty", "Nothing is said of what is not there.");
        families.gauge("shop_calls_age_seconds", "The last one's age.").add(&[], 0.25);
        let buckets = vec![(0.1, 2), (1.0, 0), (f64::INFINITY, 1)];
        let sample = SampleValue::Histogram(HistogramSample { sum: 4.5, buckets });
        families.histogram("shop_time_seconds", "How long.").add(&[], sample);
        families
    }

    #[test]
    fn the_newer_format() {
        let wanted = "\
# HELP shop_calls Calls, by \"kind\".
# TYPE shop_calls counter
shop_calls_total{kind=\"a\\\"b\\\\c\\nd\"} 3
shop_calls_total{kind=\"plain\",door=\"1\"} 4
# HELP shop_calls_age_seconds The last one's age.
# TYPE shop_calls_age_seconds gauge
shop_calls_age_seconds 0.25
# HELP shop_time_seconds How long.
# TYPE shop_time_seconds histogram
shop_time_seconds_sum 4.5
shop_time_seconds_count 3
shop_time_seconds_bucket{le=\"0.1\"} 2
shop_time_seconds_bucket{le=\"1.0\"} 2
shop_time_seconds_bucket{le=\"+Inf\"} 3
# EOF
";
        assert_eq!(families().to_open_metrics(), wanted);
    }

    #[test]
    fn the_older_format_calls_counters_as_their_samples() {
        let (older, newer) = (families().to_prometheus(), families().to_open_metrics());
        let wanted = newer
            .replace("HELP shop_calls ", "HELP shop_calls_total ")
            .replace("TYPE shop_calls ", "TYPE shop_calls_total ")
            .replace("# EOF\n", "");
        assert_eq!(older, wanted);
    }
}
