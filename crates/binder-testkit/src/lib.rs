//! Fakes, rigs, a reference model and counters for tests of the driver.
