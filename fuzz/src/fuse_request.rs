//! Bytes as one read of `/dev/fuse`.

use fuse_wire::{Operation, Request};

/// Reads a request and checks what every reader may rely on.
///
/// # Panics
///
/// Panics if the reading does, or if what was read cannot be.
pub fn check(bytes: &[u8]) {
    let request = match Request::parse(bytes) {
        Ok(request) => request,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    for name in names(&request.operation).into_iter().flatten() {
        assert!(!name.is_empty() && !name.contains(&0), "{request:?}");
    }
    assert!(Request::parse(&bytes[..bytes.len() - 1]).is_err(), "read twice: {request:?}");
}

/// The names in a request.
fn names<'a>(operation: &Operation<'a>) -> [Option<&'a [u8]>; 2] {
    match *operation {
        Operation::Lookup { name }
        | Operation::Mknod { name, .. }
        | Operation::Mkdir { name, .. }
        | Operation::Unlink { name }
        | Operation::Rmdir { name }
        | Operation::Link { name, .. }
        | Operation::Create { name, .. }
        | Operation::GetXattr { name, .. } => [Some(name), None],
        Operation::Symlink { name, target } => [Some(name), Some(target)],
        Operation::Rename { name, new_name, .. } => [Some(name), Some(new_name)],
        _ => [None, None],
    }
}
