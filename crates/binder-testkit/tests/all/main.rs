//! The whole driver core, played by scripted clients.

mod adoption;
mod disruptions;
mod early_reservations;
mod faults;
mod fd_work;
mod fickle_memory;
mod freezing;
mod frontend;
mod limits;
mod lost_returns;
mod model;
mod observation;
mod priority;
mod promises;
mod schedules;
mod slices;
mod windows;
