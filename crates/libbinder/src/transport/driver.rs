//! Calls over a binder device.
