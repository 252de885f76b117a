use super::*;

fn tree_with_binder() -> Tree {
    let mut tree = Tree::new(0, 0);
    assert_eq!(tree.add_device(b"binder", 0o600), Ok(0));
    tree
}

#[test]
fn an_inode_is_opened_once_and_the_next_lookup_finds_another() {
    let mut tree = tree_with_binder();
    let first = tree.lookup(FUSE_ROOT_ID, b"binder", 7).unwrap().node;
    assert_eq!(tree.lookup(FUSE_ROOT_ID, b"binder", 7).unwrap().node, first);
    assert_eq!(tree.take_for_open(first, 7), Ok(Sharing::Exclusive));
    assert_eq!(tree.take_for_open(first, 7), Err(Errno::ESTALE));
    let second = tree.lookup(FUSE_ROOT_ID, b"binder", 7).unwrap().node;
    assert_ne!(second, first);
    assert_eq!(tree.place(second), Ok(InodeKind::Device(0)));
}

#[test]
fn threads_that_look_at_the_same_time_find_inodes_of_their_own() {
    let mut tree = tree_with_binder();
    let found =
        [7, 8, 7, 9].map(|tid| (tid, tree.lookup(FUSE_ROOT_ID, b"binder", tid).unwrap().node));
    for (tid, node) in found {
        assert_eq!(tree.take_for_open(node, tid), Ok(Sharing::Exclusive), "{found:?}");
    }
}

#[test]
fn those_who_open_without_a_lookup_share_the_inode() {
    let mut tree = tree_with_binder();
    let mounted = tree.lookup(FUSE_ROOT_ID, b"binder", 7).unwrap().node;
    assert_eq!(tree.take_for_open(mounted, 8), Ok(Sharing::Shared));
    assert_eq!(tree.take_for_open(mounted, 7), Ok(Sharing::Shared));
    assert_ne!(tree.lookup(FUSE_ROOT_ID, b"binder", 7).unwrap().node, mounted);
}

// C230, C231
#[test]
fn names_that_are_none_are_refused_and_255_bytes_are_a_name() {
    let mut tree = tree_with_binder();
    for name in [&b""[..], b".", b"..", b"a/b"] {
        assert_eq!(tree.add_device(name, 0o600), Err(Errno::EACCES), "{name:?}");
    }
    assert_eq!(tree.add_device(b"binder", 0o600), Err(Errno::EEXIST));
    assert_eq!(tree.add_device(&[b'x'; 255], 0o600), Ok(1));
}

// C235
#[test]
fn a_removed_device_keeps_its_open_inodes() {
    let mut tree = tree_with_binder();
    let node = tree.lookup(FUSE_ROOT_ID, b"binder", 7).unwrap().node;
    tree.take_for_open(node, 7).unwrap();
    assert_eq!(tree.unlink(FUSE_ROOT_ID, b"binder"), Ok(()));
    assert_eq!(tree.unlink(FUSE_ROOT_ID, b"binder"), Err(Errno::ENOENT));
    assert_eq!(tree.unlink(FUSE_ROOT_ID, b"binder-control"), Err(Errno::EPERM));
    assert_eq!(tree.place(node), Ok(InodeKind::Device(0)));
    tree.forget(node, 1);
    assert_eq!(tree.place(node), Err(Errno::ENOENT));
}

// C233
#[test]
fn a_limit_counts_devices_that_have_a_name_or_are_open() {
    let mut tree = tree_with_binder();
    tree.limit_devices(2);
    assert_eq!(tree.add_device(b"second", 0o600), Ok(1));
    assert_eq!(tree.add_device(b"third", 0o600), Err(Errno::ENOSPC));
    assert_eq!(tree.add_device(b"binder", 0o600), Err(Errno::ENOSPC), "before the name");
    let node = tree.lookup(FUSE_ROOT_ID, b"second", 7).unwrap().node;
    tree.take_for_open(node, 7).unwrap();
    tree.unlink(FUSE_ROOT_ID, b"second").unwrap();
    assert_eq!(tree.add_device(b"third", 0o600), Err(Errno::ENOSPC));
    tree.close(1, 0);
    assert_eq!(tree.add_device(b"third", 0o600), Ok(2), "number 1 has an inode still");
    tree.forget(node, 1);
    tree.limit_devices(3);
    assert_eq!(tree.add_device(b"fourth", 0o600), Ok(1));
}

#[test]
fn a_device_keeps_what_it_is_under_another_name() {
    let mut tree = tree_with_binder();
    tree.add_device(b"other", 0o600).unwrap();
    fn root(name: &str) -> (u64, &[u8]) {
        (FUSE_ROOT_ID, name.as_bytes())
    }
    let node = tree.lookup(FUSE_ROOT_ID, b"binder", 7).unwrap().node;
    tree.take_for_open(node, 7).unwrap();
    assert_eq!(tree.rename(root("binder"), root("new"), RENAME_NOREPLACE), Ok(()));
    tree.set_permissions(node, |permissions| permissions.mode = 0o640).unwrap();
    let found = tree.lookup(FUSE_ROOT_ID, b"new", 7).unwrap();
    assert_eq!(found.attr.mode, S_IFREG | 0o640);
    assert_eq!(tree.place(found.node), Ok(InodeKind::Device(0)));
    assert!(tree.lookup(FUSE_ROOT_ID, b"binder", 7).is_err());

    let refused = tree.rename(root("new"), root("other"), RENAME_NOREPLACE);
    assert_eq!(refused, Err(Errno::EEXIST));
    tree.rename(root("new"), root("other"), RENAME_EXCHANGE).unwrap();
    let found = tree.lookup(FUSE_ROOT_ID, b"new", 7).unwrap().node;
    assert_eq!(tree.place(found), Ok(InodeKind::Device(1)));
    tree.rename(root("new"), root("other"), 0).unwrap();
    let found = tree.lookup(FUSE_ROOT_ID, b"other", 7).unwrap().node;
    assert_eq!(tree.place(found), Ok(InodeKind::Device(1)));
    assert_eq!(tree.place(node), Ok(InodeKind::Device(0)), "overwritten, and open");
}

#[test]
fn what_is_no_device_stays_where_it_is() {
    let mut tree = tree_with_binder();
    let cases = [
        ((FUSE_ROOT_ID, &b"binder-control"[..]), (FUSE_ROOT_ID, &b"x"[..]), Errno::EPERM),
        ((FUSE_ROOT_ID, b"binder"), (FUSE_ROOT_ID, b"binder-control"), Errno::EPERM),
        ((FUSE_ROOT_ID, b"features"), (FUSE_ROOT_ID, b"x"), Errno::EPERM),
        ((FUSE_ROOT_ID, b"binder"), (FEATURES, b"binder"), Errno::EPERM),
        ((FEATURES, b"extended_error"), (FEATURES, b"x"), Errno::EPERM),
        ((FUSE_ROOT_ID, b"absent"), (FUSE_ROOT_ID, b"x"), Errno::ENOENT),
    ];
    for (from, to, refused) in cases {
        assert_eq!(tree.rename(from, to, 0), Err(refused), "{from:?}");
    }
    assert_eq!(tree.rename(cases[1].0, (FUSE_ROOT_ID, b"x"), 8), Err(Errno::EINVAL));
}

#[test]
fn an_inode_from_before_a_change_of_owner_changes_nothing() {
    let mut tree = tree_with_binder();
    let own = tree.lookup(FUSE_ROOT_ID, b"binder", 7).unwrap().node;
    tree.take_for_open(own, 7).unwrap();
    let roots = tree.lookup(FUSE_ROOT_ID, b"binder", 8).unwrap().node;
    tree.set_permissions(roots, |permissions| permissions.uid = 1000).unwrap();
    let taken_back = tree.set_permissions(own, |permissions| permissions.mode = 0o666);
    assert_eq!(taken_back, Err(Errno::ESTALE));
}

#[test]
fn a_change_of_mode_lasts() {
    let mut tree = tree_with_binder();
    let node = tree.lookup(FUSE_ROOT_ID, b"binder", 7).unwrap().node;
    tree.set_permissions(node, |permissions| permissions.mode = 0o666).unwrap();
    tree.take_for_open(node, 7).unwrap();
    let next = tree.lookup(FUSE_ROOT_ID, b"binder", 7).unwrap();
    assert_eq!(next.attr.mode, S_IFREG | 0o666);
}

#[test]
fn the_directory_and_its_control_can_be_opened_to_others() {
    let mut tree = tree_with_binder();
    for (node, kind) in [(FUSE_ROOT_ID, S_IFDIR), (CONTROL, S_IFREG)] {
        let open = |permissions: &mut Permissions| {
            *permissions = Permissions { mode: 0o1777, uid: 5, gid: 6 }
        };
        tree.set_permissions(node, open).unwrap();
        let Attr { mode, uid, gid, .. } = tree.attr(node).unwrap();
        assert_eq!((mode, uid, gid), (kind | 0o1777, 5, 6));
    }
    assert_eq!(tree.set_permissions(FEATURES, |_| ()), Err(Errno::EPERM));
}
