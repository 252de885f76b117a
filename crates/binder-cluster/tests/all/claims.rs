//! What others have written is a claim.

use binder_cluster::{Claim, ServiceKey};
use proptest::prelude::*;

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(key in prop::collection::vec(any::<u8>(), 0..64),
                                     value in prop::collection::vec(any::<u8>(), 0..2000)) {
        if let Ok(key) = ServiceKey::parse(&key) {
            let _ = Claim::parse(&key, &value);
        }
    }

    #[test]
    fn what_is_read_has_one_form(
        key in "(one|many|two)?:?[a-zA-Z./_:-]{0,20}(:tls://[a-z0-9.:\\[\\]]{0,12}:[0-9]{0,6})?",
        value in "anybinder [12]\n(at tls://[a-z0-9.]{0,5}:[0-9]{0,6}\n|since [0-9]{0,25}\n|x\n){0,4}",
    ) {
        let Ok(parsed) = ServiceKey::parse(key.as_bytes()) else { return Ok(()) };
        prop_assert_eq!(parsed.to_string(), key);
        if let Ok(claim) = Claim::parse(&parsed, value.as_bytes()) {
            prop_assert_eq!(Claim::parse(&parsed, claim.to_value().as_bytes()), Ok(claim));
        }
    }
}
