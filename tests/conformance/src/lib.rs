//! The numbered checks of the driver's specification, and foreign clients.
