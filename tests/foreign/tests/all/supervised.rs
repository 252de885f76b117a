//! System calls that never reach a file system in user space, made by C programs and by mount(8).

use std::path::Path;

use foreign::stage::{Stage, User, is_root_to};

fn stage_with(program: &str) -> Stage {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    Stage::of_c_program(place.parent().expect("it is cargo's target/tmp"), program)
}

#[test]
fn an_ioctl_without_an_argument_is_answered() {
    let stage = stage_with("null_argument");
    for &user in User::all() {
        assert_eq!(stage.run(user, "null_argument", &["/dev/binder"]), "answered\n", "as {user:?}");
    }
}

/// As in a container of Docker's that has no `CAP_SYS_PTRACE`.
#[test]
fn where_no_file_can_be_taken_calls_go_on_and_it_is_said() {
    let stage = stage_with("send_files");
    stage.compile(&["gcc"], "under_filter", "under_filter");
    stage.compile(&["gcc", "-pthread"], "hello_binder", "hello_binder");
    let by = [&stage.path_of("under_filter"), "refuse", "pidfd_getfd"];
    let script = r#"
here=$(dirname "$0")
"$here/hello_binder"
! "$here/send_files" 2>/dev/null || echo "files were sent"
"$here/anybinder" doctor --json | grep -o '"check":"[a-z]*","found":false' | grep -e ring -e descriptors -e run"#;
    for &user in User::all() {
        let said = stage.run_script_by(&by, user, &[], script);
        let wanted = "hello, world; you are my parent\n\
                      \"check\":\"ring\",\"found\":false\n\
                      \"check\":\"descriptors\",\"found\":false\n";
        assert_eq!(said, wanted, "as {user:?}");
    }
}

#[test]
fn programs_mount_binderfs_in_both_ways() {
    let stage = stage_with("own_mount");
    let script = |way: &str, wrapped: &str| {
        format!(
            "a=$(mktemp -d); b=$(mktemp -d)
             {wrapped} \"$(dirname \"$0\")/own_mount\" {way} $a $b
             test -z \"$(ls -A $a $b | tr -d '\\n' | sed \"s|$a:||; s|$b:||\")\"
             rmdir $a $b"
        )
    };
    for &user in User::all() {
        for way in ["old", "new"] {
            // In a user namespace below the driver's, with mounts of its own.
            let below = script(way, "unshare --user --map-root-user --mount");
            assert_eq!(stage.run_script(user, &[], &below), "mounted\n", "as {user:?}, {way}");
        }
    }
    if is_root_to("mount in the mounts of a world") {
        for (way, delivery) in [("old", "auto"), ("new", "auto"), ("old", "store")] {
            let world = ["--delivery", delivery];
            let said = stage.run_script(User::Myself, &world, &script(way, ""));
            assert_eq!(said, "mounted\n", "{way}, delivery {delivery}");
        }
    }
}

#[test]
fn what_a_program_mounts_has_the_limits_of_its_world() {
    let stage = stage_with("own_mount");
    let script = r#"
dir=$(mktemp -d)
unshare --user --map-root-user --mount bash -c '
    mount -i -t binder mine "$0"
    opened=0
    while exec {fd}<>"$0/binder"; do opened=$((opened + 1)); done 2>/dev/null
    echo "$opened"' "$dir"
rmdir "$dir""#;
    for &user in User::all() {
        let said = stage.run_script(user, &["--limit", "user-opens=4"], script);
        assert_eq!(said, "4\n", "as {user:?}");
    }
}

#[test]
fn who_may_not_mount_is_told_so() {
    let stage = stage_with("own_mount");
    // After the command has started, an ordinary user has no privilege inside either.
    let script = r#"
dir=$(mktemp -d)
mount -i -t binder mine "$dir" 2>/dev/null && exit 1
rmdir "$dir"
echo refused"#;
    if is_root_to("act for others who may not mount") {
        assert_eq!(stage.run_script(User::Ordinary, &[], script), "refused\n");
        // Nor has root without the capability, or a user namespace without mounts of its own.
        let without = "setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin sh -ec";
        let below = "unshare --user --map-root-user sh -ec";
        for wrapped in [without, below] {
            let script = format!("{wrapped} '{script}'");
            assert_eq!(stage.run_script(User::Myself, &[], &script), "refused\n", "{wrapped}");
        }
        let unsupervised = stage.run_script(User::Myself, &["--no-seccomp"], script);
        assert_eq!(unsupervised, "refused\n", "nobody is asked");
    }
}

#[test]
fn mount_8_mounts_and_remounts_binderfs() {
    if !is_root_to("mount inside a world") {
        return;
    }
    let stage = stage_with("own_mount");
    let script = r#"
dir=$(mktemp -d)
mount -t binder -o max=4 mine "$dir"
ls "$dir"
stat -c %a "$dir/binder" "$dir/binder-control"
mv "$dir/binder" "$dir/renamed"
chmod 640 "$dir/renamed"
mv "$dir/renamed" "$dir/hwbinder"
stat -c '%n %a' "$dir"/*binder | sed "s|$dir/||"
mv "$dir/features" "$dir/x" 2>/dev/null && exit 1
rm -f "$dir/binder-control" 2>/dev/null && exit 1
mount -o remount,max=2 "$dir"
mount -t binder -o max=2 mine "$dir" 2>/dev/null && exit 1
mount -t binder -o stats=global mine "$dir/features" && umount "$dir/features"
# In mounts of its own: others do not see it.
unshare --mount sh -ec 'mount -t binder inner "$0/features"; ls "$0/features"' "$dir" | wc -l
cat "$dir"/features/extended_error
umount "$dir"
rmdir "$dir""#;
    let expected = "binder\nbinder-control\nfeatures\nhwbinder\nvndbinder\n600\n600\n\
                    hwbinder 640\nvndbinder 600\n5\n1\n";
    assert_eq!(stage.run_script(User::Myself, &[], script), expected);
}

/// The inner world's programs have a supervisor already: the outer one's, who mounts for them.
#[test]
fn a_world_within_a_world_goes_without_a_supervisor_of_its_own() {
    if !is_root_to("mount inside a world") {
        return;
    }
    let stage = stage_with("own_mount");
    let script = r#"
here=$(dirname "$0")
a=$(mktemp -d); b=$(mktemp -d)
"$here/anybinder" run -- "$here/own_mount" new $a $b
rmdir $a $b"#;
    assert_eq!(stage.run_script(User::Myself, &[], script), "mounted\n");
}
