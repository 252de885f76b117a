//! Each device in a few numbers, however many processes it has: cheap enough to be read every few seconds.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use binder_core::Resource;

use crate::records::{ProcessRecord, processes};
use crate::stats::named_counters;
use crate::{DeviceReport, Door, LockUsage};

/// How many objects of each kind one device has, and how often each command and return was used there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeviceFigures {
    /// The device; empty for those that are gone.
    pub device: String,
    /// How often which command was given and which return was read, by their C names, modulo 2^32. What has never
    /// happened is left out.
    pub counters: Vec<(&'static str, u32)>,
    /// Objects by kind, as the logs name it: those alive, and all that ever were, modulo 2^32.
    pub objects: Vec<(&'static str, u64, u32)>,
    /// Open files by the door of their clients, FUSE's and the ring's.
    pub open_files: [u64; 2],
    /// Threads that the driver knows.
    pub threads: u64,
    /// Those of them that are idle.
    pub ready_threads: u64,
    /// Objects that processes offer.
    pub nodes: u64,
    /// Handles of others' objects.
    pub handles: u64,
    /// Handles whose holder wants to be told of the death of the object's process.
    pub death_links: u64,
    /// Buffers in receive areas.
    pub buffers: u64,
    /// The bytes that these take.
    pub buffer_bytes: u64,
    /// The length of all receive areas.
    pub area_bytes: u64,
    /// Items that wait to be read; completions are none.
    pub queued: u64,
    /// One-ways that wait behind another to the same object.
    pub waiting_oneways: u64,
    /// Calls that are not answered.
    pub calls_under_way: u64,
    /// The longest that a call to a process took which has the device open.
    pub longest_call_us: u64,
    /// Of each resource that users have a limited amount of: its name, what the user has who has most of it, and the
    /// limit.
    pub quotas: Vec<(&'static str, u64, u64)>,
    /// How the device's lock was used; `None` for devices that are gone.
    pub lock: Option<LockUsage>,
}

/// The figures of all devices.
pub fn device_figures(devices: &[DeviceReport]) -> Vec<DeviceFigures> {
    let mut figures: Vec<_> = devices.iter().map(figures_of).collect();
    let places: BTreeMap<_, _> =
        devices.iter().enumerate().map(|(place, device)| (device.name.clone(), place)).collect();
    for process in processes(devices) {
        if let Some(place) = places.get(&process.device) {
            figures[*place].add(&process);
        }
    }
    figures
}

/// The figures of a device that are not about its processes.
fn figures_of(device: &DeviceReport) -> DeviceFigures {
    let DeviceReport { name, snapshot, lock, doors: _ } = device;
    let references = snapshot.processes.iter().flat_map(|process| &process.references);
    let objects = snapshot.objects.iter().filter(|it| it.total > 0);
    DeviceFigures {
        device: name.clone(),
        counters: named_counters(&snapshot.counters).collect(),
        objects: objects.map(|it| (it.name, it.active, it.total)).collect(),
        death_links: wide(references.filter(|it| it.death.is_some()).count()),
        quotas: quotas(device),
        lock: *lock,
        ..DeviceFigures::default()
    }
}

fn quotas(device: &DeviceReport) -> Vec<(&'static str, u64, u64)> {
    let mut quotas: Vec<(_, u64, u64)> = Vec::new();
    for user in device.snapshot.users() {
        for (at, resource) in Resource::ALL.into_iter().enumerate() {
            let (held, limit) = (wide(user.held[resource]), wide(user.limits[resource]));
            match quotas.get_mut(at) {
                Some(quota) => quota.1 = quota.1.max(held),
                None => quotas.push((resource.name(), held, limit)),
            }
        }
    }
    quotas
}

impl DeviceFigures {
    fn add(&mut self, process: &ProcessRecord) {
        self.open_files[usize::from(process.door != Door::Fuse)] += 1;
        self.threads += wide(process.threads);
        self.ready_threads += wide(process.ready_threads);
        self.nodes += wide(process.nodes);
        self.handles += wide(process.handles);
        self.buffers += wide(process.buffers);
        self.buffer_bytes += process.buffer_bytes;
        self.area_bytes += u64::from(process.area_bytes);
        self.queued += wide(process.queued);
        self.waiting_oneways += wide(process.waiting_oneways);
        self.calls_under_way += wide(process.incoming_calls);
        self.longest_call_us = self.longest_call_us.max(process.longest_call_us);
    }
}

/// No machine has more of anything than 64 bits can count.
fn wide(count: usize) -> u64 {
    count as u64
}
