//! Facts of an object elsewhere, for transports to embed in their proxies.

use std::sync::OnceLock;

use crate::Stability;

/// Facts about an object that its proxy keeps.
#[derive(Debug, Default)]
pub struct ProxyFacts {
    descriptor: OnceLock<Box<str>>,
    stability: OnceLock<Stability>,
}

impl ProxyFacts {
    /// The interface that the object said to serve, if it was asked.
    pub fn descriptor(&self) -> Option<&str> {
        self.descriptor.get().map(Box::as_ref)
    }

    /// Keeps what the object said, the first time.
    pub(crate) fn learn_descriptor(&self, descriptor: String) -> &str {
        self.descriptor.get_or_init(|| descriptor.into_boxed_str())
    }

    /// How stable the object's interface is, as it was told beside its name.
    pub fn stability(&self) -> Stability {
        self.stability.get().copied().unwrap_or_default()
    }

    /// Keeps what a parcel said beside the object's name, the first time.
    pub fn learn_stability(&self, stability: Stability) {
        // Peers say the same each time; if not, the first word counts.
        let _ = self.stability.set(stability);
    }
}
