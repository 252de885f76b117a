//! A process as the namespaces know it.

use alloc::sync::Arc;
use core::fmt;

use crate::namespace::PidNamespace;
use crate::per_level::PerLevel;

/// A process's number in each namespace that can see it, and the process.
///
/// The numbers never change; they are this pid's until it is freed, and may then become another's.
pub struct Pid<P: Send + Sync + 'static> {
    /// The root's first, that of the process's own namespace last.
    numbers: PerLevel<u32>,
    namespace: Arc<PidNamespace<P>>,
    process: P,
}

impl<P: Send + Sync + 'static> Pid<P> {
    pub(crate) fn new(numbers: PerLevel<u32>, namespace: Arc<PidNamespace<P>>, process: P) -> Self {
        Self { numbers, namespace, process }
    }

    /// What the owner of the namespaces keeps of the process.
    #[must_use]
    pub fn process(&self) -> &P {
        &self.process
    }

    /// The process's own namespace.
    #[must_use]
    pub fn namespace(&self) -> &Arc<PidNamespace<P>> {
        &self.namespace
    }

    /// Whether the process is in the same namespace as another.
    #[inline]
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.namespace, &other.namespace)
    }

    /// The number in the process's own namespace.
    #[inline]
    #[must_use]
    pub fn nr(&self) -> u32 {
        self.numbers.last().copied().unwrap_or_default()
    }

    /// The number in the root.
    #[must_use]
    pub fn global_nr(&self) -> u32 {
        self.numbers.first().copied().unwrap_or_default()
    }

    /// The numbers, the root's first, as in `NSpid` of `/proc/PID/status`.
    #[must_use]
    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// The number in `namespace`; 0 if the process cannot be seen there.
    #[must_use]
    pub fn nr_ns(&self, namespace: &PidNamespace<P>) -> u32 {
        if !namespace.contains(&self.namespace) {
            return 0;
        }
        self.numbers.get(namespace.level() as usize).copied().unwrap_or_default()
    }

    /// The number as `reader` sees it, in its own namespace; 0 if it does not.
    #[inline]
    #[must_use]
    pub fn vnr(&self, reader: &Self) -> u32 {
        // Most who meet are in the same.
        if self.is_beside(reader) {
            return self.nr();
        }
        self.nr_ns(&reader.namespace)
    }
}

impl<P: Send + Sync + 'static> fmt::Debug for Pid<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pid").field("numbers", &self.numbers()).finish_non_exhaustive()
    }
}
