package anybinder.shapes.keys;

import anybinder.shapes.keys.Tag;
import anybinder.shapes.keys.KeyParameterValue;

@VintfStability
@RustDerive(Clone=true, Eq=true, Hash=true, Ord=true, PartialEq=true, PartialOrd=true)
parcelable KeyParameter {
    Tag tag = Tag.INVALID;
    KeyParameterValue value;
}
