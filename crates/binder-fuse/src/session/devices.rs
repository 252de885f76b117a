//! The devices of a mount, and their open files.

use std::sync::Arc;

use binder_core::{Context, Errno, Limits};
use binder_uapi::BinderfsDevice;
use fuse_wire::reply;
use zerocopy::{FromBytes, IntoBytes};

use crate::client::Clients;
use crate::descriptors;
use crate::device::{Device, DeviceState, DeviceWork, Job};
use crate::shared::SessionShared;
use crate::tree::DeviceId;
use crate::wire::send;

impl SessionShared {
    /// `BINDER_CTL_ADD`: makes a device and tells its number.
    pub(super) fn add_device(&self, unique: u64, data: &[u8]) {
        let Ok(mut wanted) = BinderfsDevice::read_from_bytes(data) else {
            return self.refuse(unique, Errno::EINVAL);
        };
        wanted.name[wanted.name.len() - 1] = 0;
        let name = wanted.name.split(|byte| *byte == 0).next().unwrap_or_default();
        let mut tree = self.tree();
        let id = match tree.add_device(name, 0o600) {
            Ok(id) => id,
            Err(refused) => {
                drop(tree);
                return self.refuse(unique, refused);
            }
        };
        // Before a client can look the name up, and in the order of the numbers.
        let name = String::from_utf8_lossy(name).into_owned();
        self.make_device(id, name);
        drop(tree);
        wanted.minor = u32::try_from(id).unwrap_or(u32::MAX);
        send(&self.fuse, &reply::ioctl(unique, 0, wanted.as_bytes()));
    }

    /// Makes a device. No client can reach an earlier device of its number.
    pub(super) fn make_device(&self, id: DeviceId, name: String) {
        let context = Context::with_limits(*self.limits())
            .numbered_by(self.sequences.clone())
            .paying_from(self.budget.clone());
        let clients = Clients::new(self.fuse.clone(), self.pool.clone());
        let expected = self.expected.clone();
        let forget_expected = Box::new(move |process| expected.forget_process(id, process));
        let (budget, inheritance) = (self.budget.clone(), self.priorities.inheritance());
        let state =
            DeviceState::new(context, clients, budget, forget_expected, inheritance, self.clock);
        let device = Arc::new(Device::new(id, name, state));
        let made = device.clone();
        let mut devices = self.devices.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        let gone = match devices.get_mut(id) {
            Some(place) => Some(std::mem::replace(place, device)),
            None => {
                debug_assert_eq!(id, devices.len(), "no number is passed over");
                devices.push(device);
                None
            }
        };
        drop(devices);
        // They may have been changed when the device was not among the others yet.
        let limits = *self.limits();
        made.lock().frontend.context_mut().set_limits(limits);
        self.trace_new_device(&made);
        if let Some(gone) = gone {
            let latest_id = self.latest_id();
            self.removed_devices().take_over(&gone.name, gone.lock().frontend.context(), latest_id);
        }
    }

    /// Has all devices, and those that are still to be made, keep to other limits.
    pub(super) fn set_limits(&self, limits: Limits) {
        let limits = descriptors::affordable(limits);
        self.budget.set_limit_bytes(limits.all_bytes);
        // First for those that are made meanwhile.
        *self.limits() = limits;
        for device in self.devices() {
            device.lock().frontend.context_mut().set_limits(limits);
        }
    }

    /// Has idle pages of other devices go back while there are more than there may be.
    pub(crate) fn keep_to_budget_but(&self, own: DeviceId) {
        for device in self.devices() {
            if device.id != own {
                let reclaim: DeviceWork = Box::new(|state| {
                    state.reclaim_excess();
                });
                self.submit(&device, Job::Work(reclaim));
            }
        }
    }

    /// Has the threads of process `pid` be left to restrict themselves.
    pub(crate) fn note_filter(&self, pid: u32) {
        for (_, file) in self.device_files(|file| file.pid == pid) {
            file.note_filter();
        }
    }
}
