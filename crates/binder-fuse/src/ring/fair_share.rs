//! Who gives a place up where all are taken.

/// Which of the users who have the places, one entry for each, gives one up for one of `user`: the one who has the most, if it has
/// more than that user will have. So no user keeps the others from having some.
pub(super) fn who_gives_way(user: u32, users: &[u32]) -> Option<u32> {
    let places = users.iter().map(|it| (*it, places_of(*it, users)));
    let (loser, most) = places.max_by_key(|it| it.1)?;
    (most > places_of(user, users) + 1).then_some(loser)
}

/// How many of these places a user has.
pub(super) fn places_of(user: u32, users: &[u32]) -> usize {
    users.iter().filter(|it| **it == user).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_with_the_most_places_gives_one_up_for_a_user_with_fewer() {
        let users = [1000, 2000, 2000, 2000, 3000];
        let loser = |user| who_gives_way(user, &users);
        assert_eq!([loser(4000), loser(1000)], [Some(2000); 2]);
        assert_eq!(loser(2000), None, "it would take a place of its own");
        assert_eq!(who_gives_way(1000, &[1000, 2000, 2000]), None, "no user has many more");
        assert_eq!(who_gives_way(1000, &[]), None);
    }
}
