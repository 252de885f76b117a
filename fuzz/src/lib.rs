//! What the fuzz targets check, one module per target, each a function of the input bytes.

#![deny(unsafe_code)]

pub mod aidl_arguments;
pub mod aidl_source;
pub mod command_stream;
pub mod etcd_values;
pub mod forwarded_parcels;
pub mod fuse_request;
pub mod lane_segment;
pub mod manager_transactions;
pub mod parcel_values;
pub mod relayed_streams;
pub mod ring_request;
pub mod rpc_session;
pub mod trace_recording;
