//! What a member tells of itself.

use std::time::Duration;

use binder_cluster::{
    ClaimOutcome, ClusterEffect, ClusterEvent, ClusterMember, LeaseId, MemberOptions, Ownership,
    RequestId,
};

/// What the member wants of the store, in order.
fn effects(member: &mut ClusterMember) -> Vec<ClusterEffect> {
    std::iter::from_fn(|| member.poll_effect()).collect()
}

fn grant_in(effects: &[ClusterEffect]) -> RequestId {
    let granted = effects.iter().find_map(|effect| match effect {
        ClusterEffect::Grant { request, .. } => Some(*request),
        _ => None,
    });
    granted.unwrap()
}

#[test]
fn a_member_tells_of_its_lease_its_names_and_how_old_its_news_are() {
    let seconds = Duration::from_secs;
    let address = "tls://here:1".parse().unwrap();
    let mut member = ClusterMember::new(MemberOptions { address, ttl: seconds(10) });
    member.handle(seconds(100), ClusterEvent::Tick);
    let asked = effects(&mut member);
    let lease = LeaseId(7);
    let leased = ClusterEvent::Leased { request: grant_in(&asked), lease, ttl: seconds(10) };
    member.handle(seconds(101), leased);
    let status = member.status(seconds(102));
    assert_eq!((status.stale_for, status.revision), (seconds(2), 0), "nothing was listed yet");
    let request = asked.iter().find_map(|effect| match effect {
        ClusterEffect::List { request } => Some(*request),
        _ => None,
    });
    let keys = Vec::new();
    member.handle(
        seconds(102),
        ClusterEvent::Listed { request: request.unwrap(), revision: 9, keys },
    );
    let status = member.status(seconds(102));
    assert_eq!((status.stale_for, status.revision), (Duration::ZERO, 9));
    for (name, outcome) in
        [("mine", ClaimOutcome::Won(5)), ("theirs", ClaimOutcome::Taken(LeaseId(8), 4))]
    {
        let added = ClusterEvent::ServiceAdded { name: name.into(), ownership: Ownership::Single };
        member.handle(seconds(102), added);
        let claim = effects(&mut member).iter().find_map(|effect| match effect {
            ClusterEffect::Claim { request, .. } => Some(*request),
            _ => None,
        });
        member.handle(seconds(102), ClusterEvent::Claimed { request: claim.unwrap(), outcome });
    }
    let status = member.status(seconds(102));
    // It counts from when it was asked for, and a tenth is left.
    assert_eq!((status.lease_left, status.lost_leases), (seconds(7), 0));
    assert_eq!((status.owned, status.awaited, status.writes), (1, 1, 0));
    member.handle(seconds(120), ClusterEvent::Tick);
    let status = member.status(seconds(120));
    assert_eq!((status.lease_left, status.lost_leases), (Duration::ZERO, 1));
    assert_eq!((status.owned, status.awaited), (0, 2));
}
