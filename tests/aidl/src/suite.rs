//! Every method of `ITest` with every type, over whatever transport.

#![expect(clippy::unwrap_used, reason = "every check may fail")]

use std::fs::File;
use std::io::{Read, Write};
use std::sync::Arc;

use binder::{ExceptionCode, ParcelFileDescriptor, SpIBinder, StatusCode, Strong};

use binder_testkit::{HANG_TIMEOUT, wait_until};

use crate::aidl::anybinder::test::{
    ByteEnum::ByteEnum,
    Everything::{Everything, Inner::Inner, Inner::Kind::Kind},
    Extra::Extra,
    ICallback::ICallback,
    ITest::ITest,
    IntEnum::IntEnum,
    LongEnum::LongEnum,
    Node::Node,
    Pair::Pair,
    Point::Point,
    Shape::Shape,
    Tree::Tree,
};
use crate::service::new_callback;

/// What the transport under test cannot do.
#[derive(Debug, Clone, Copy, Default)]
pub struct Without {
    /// No files.
    pub files: bool,
    /// No calls back outside of the caller's own calls.
    pub late_callbacks: bool,
}

/// Runs everything.
pub fn run(test: &Strong<dyn ITest>, without: Without) {
    numbers(test);
    arrays(test);
    nullables(test);
    fixed_arrays(test);
    parcelables(test);
    binders(test);
    callbacks(test, without);
    failures(test);
    oneways(test);
    if !without.files {
        files(test);
    }
}

/// Numbers, text and enumerations.
pub fn numbers(test: &Strong<dyn ITest>) {
    assert!(test.repeatBoolean(true).unwrap());
    for value in [i8::MIN, -1, 0, i8::MAX] {
        assert_eq!(test.repeatByte(value).unwrap(), value);
    }
    assert_eq!(test.repeatChar(0xffff).unwrap(), 0xffff);
    assert_eq!(test.repeatInt(i32::MIN).unwrap(), i32::MIN);
    assert_eq!(test.repeatLong(i64::MAX - 1).unwrap(), i64::MAX - 1);
    assert_eq!(test.repeatFloat(1.5).unwrap().to_bits(), 1.5_f32.to_bits());
    assert!(test.repeatDouble(f64::NAN).unwrap().is_nan());
    for text in ["", "a", "ab", "abc", "\0", "gr\u{fc}n \u{1f7e2}", &"long ".repeat(5000)] {
        assert_eq!(test.repeatString(text).unwrap(), text);
        assert_eq!(test.repeatUtf8(text).unwrap(), text);
    }
    assert_eq!(test.repeatByteEnum(ByteEnum::BAZ).unwrap(), ByteEnum::BAZ);
    assert_eq!(test.repeatIntEnum(IntEnum(7)).unwrap(), IntEnum(7));
    assert_eq!(test.repeatLongEnum(LongEnum::BAR).unwrap(), LongEnum::BAR);
}

/// Arrays and lists.
pub fn arrays(test: &Strong<dyn ITest>) {
    macro_rules! check {
        ($($method:ident: $($value:expr),*;)*) => {$({
            let value = vec![$($value),*];
            let mut copy = vec![Default::default(); value.len()];
            let mut reversed = test.$method(&value, &mut copy).unwrap();
            reversed.reverse();
            assert_eq!(reversed, value);
            assert_eq!(copy, value);
            assert!(test.$method(&[], &mut Vec::new()).unwrap().is_empty());
        })*};
    }
    check! {
        reverseBoolean: true, false, true;
        reverseByte: 1, 2, 255, 4, 5;
        reverseChar: 1, 0xffff, 3;
        reverseInt: i32::MIN, 0, i32::MAX;
        reverseLong: i64::MIN, 0, i64::MAX;
        reverseFloat: 1.0, -2.5;
        reverseDouble: 1.0, f64::INFINITY;
        reverseString: "one".to_owned(), String::new(), "three".to_owned();
        reverseByteEnum: ByteEnum::FOO, ByteEnum(-1), ByteEnum::BAR;
        reverseIntEnum: IntEnum::FOO, IntEnum::BAR;
        reverseLongEnum: LongEnum::FOO, LongEnum::BAR;
        reverseList: "a".to_owned(), "b".to_owned();
    }
    let points = [Point { x: 1, y: 2 }, Point::default()];
    let mut copy = vec![Point { x: 9, y: 9 }];
    assert_eq!(test.reversePoints(&points, &mut copy).unwrap(), [points[1], points[0]]);
    assert_eq!(copy, [Point { x: 9, y: 9 }, points[0], points[1]]);
    // More than a page, and no multiple of four.
    let bytes: Vec<u8> = (0..=255).cycle().take(20_001).collect();
    assert_eq!(test.maybeBytes(Some(&bytes)).unwrap(), Some(bytes));
}

/// What may be missing.
pub fn nullables(test: &Strong<dyn ITest>) {
    assert_eq!(test.maybeString(None).unwrap(), None);
    assert_eq!(test.maybeString(Some("")).unwrap().as_deref(), Some(""));
    let list = [Some("a".to_owned()), None];
    assert_eq!(test.maybeList(None).unwrap(), None);
    assert_eq!(test.maybeList(Some(&list)).unwrap().as_deref(), Some(&list[..]));
    assert_eq!(test.maybeInts(None).unwrap(), None);
    assert_eq!(test.maybeInts(Some(&[])).unwrap(), Some(vec![]));
    assert_eq!(test.maybeInts(Some(&[1, 2])).unwrap(), Some(vec![1, 2]));
    assert_eq!(test.maybeBytes(None).unwrap(), None);
    let mut copy = Some(vec![]);
    assert_eq!(test.maybeBooleans(None, &mut copy).unwrap(), None);
    assert_eq!(copy, None);
    assert_eq!(test.maybeBooleans(Some(&[true]), &mut copy).unwrap(), Some(vec![true]));
    assert_eq!(copy, Some(vec![true]));
    assert_eq!(test.maybeEnums(Some(&[IntEnum::BAR])).unwrap(), Some(vec![IntEnum::BAR]));
    assert_eq!(test.maybeStrings(Some(&list)).unwrap().as_deref(), Some(&list[..]));
    assert_eq!(test.maybePoint(None).unwrap(), None);
    let point = Point { x: -1, y: 5 };
    assert_eq!(test.maybePoint(Some(&point)).unwrap(), Some(point));
    let points = [None, Some(point)];
    assert_eq!(test.maybePoints(Some(&points)).unwrap().as_deref(), Some(&points[..]));
    assert_eq!(test.maybeShape(None).unwrap(), None);
    assert_eq!(test.maybeNode(None).unwrap(), None);
    let mut node = Node::default();
    for value in 0..50 {
        node = Node { value, next: Some(Box::new(node)) };
    }
    assert_eq!(test.maybeNode(Some(&node)).unwrap(), Some(node));
}

/// Arrays of a fixed length.
pub fn fixed_arrays(test: &Strong<dyn ITest>) {
    let mut copy = [0; 3];
    assert_eq!(test.repeatFixed(&[1, 2, 3], &mut copy).unwrap(), [1, 2, 3]);
    assert_eq!(copy, [1, 2, 3]);
    let matrix = [[1, 2, 3], [4, 5, 6]];
    let mut copy = [[0; 3]; 2];
    assert_eq!(test.repeatMatrix(&matrix, &mut copy).unwrap(), matrix);
    assert_eq!(copy, matrix);
    let points = [Point { x: 1, y: 1 }, Point { x: 2, y: 2 }];
    let mut swapped = points;
    assert_eq!(test.repeatFixedPoints(&points, &mut swapped).unwrap(), points);
    assert_eq!(swapped, [points[1], points[0]]);
    assert_eq!(test.repeatFixedBinders(None).unwrap(), None);
    let binders = [None, Some(test.as_binder())];
    assert_eq!(test.repeatFixedBinders(Some(&binders)).unwrap(), Some(binders));
}

/// A parcelable in which nothing has its default.
#[must_use]
pub fn everything(binder: &SpIBinder, callback: &Strong<dyn ICallback>) -> Everything {
    let mut extra = binder::ParcelableHolder::default();
    let mut pair = Pair::default();
    pair.which = 2;
    pair.name = Some("pair".into());
    let held = Extra { number: 5, text: "held".into(), binder: Some(binder.clone()) };
    extra.set_parcelable(Arc::new(held)).unwrap();
    Everything {
        flag: false,
        small: 1,
        letter: 0x20ac,
        number: -5,
        large: i64::MIN,
        single: 0.1,
        precise: 1e300,
        text: "text".into(),
        maybeText: Some("maybe".into()),
        utf8: "\u{fc}".into(),
        flags: vec![false],
        bytes: vec![9; 5],
        letters: vec![1, 2, 3],
        numbers: vec![7, 8],
        larges: vec![1 << 40],
        singles: vec![],
        precises: vec![0.5],
        texts: vec!["x".into()],
        maybeNumbers: Some(vec![1]),
        maybeTexts: Some(vec![None, Some("y".into())]),
        fixed: [4, 5, 6],
        matrix: [[9, 8, 7], [6, 5, 4]],
        byteEnum: ByteEnum::FOO,
        intEnum: IntEnum::BAR,
        longEnum: LongEnum::FOO,
        intEnums: vec![IntEnum::BAR, IntEnum(1)],
        point: Point { x: 1, y: 2 },
        points: vec![Point { x: 3, y: 4 }; 3],
        maybePoint: Some(Point { x: 5, y: 6 }),
        list: Some(Box::new(Node { value: 1, next: None })),
        pair,
        shape: Shape::Points(vec![Point { x: 7, y: 8 }]),
        lines: vec!["line".into()],
        file: None,
        binder: Some(binder.clone()),
        callback: Some(callback.clone()),
        callbacks: Some(vec![None, Some(callback.clone())]),
        extra,
        inner: Inner { depth: 3, kind: Kind::FIRST },
    }
}

/// Parcelables, unions and holders.
pub fn parcelables(test: &Strong<dyn ITest>) {
    let (callback, _notices) = new_callback(0);
    for value in [Everything::default(), everything(&test.as_binder(), &callback)] {
        let back = test.repeatEverything(&value).unwrap();
        assert_eq!(
            back.extra.get_parcelable::<Extra>().unwrap(),
            value.extra.get_parcelable::<Extra>().unwrap()
        );
        assert!(back.extra.get_parcelable::<Node>().unwrap().is_none());
        // Every field of it; those of a holder that was read are shown as it was written.
        assert_eq!(shown(&back), shown(&value));
        assert_eq!(back.binder, value.binder);
        assert_eq!(back.callback, value.callback);
    }
    let mut value = Everything { number: 1, ..Everything::default() };
    test.changeEverything(&mut value).unwrap();
    assert_eq!((value.text.as_str(), value.number), ("hello!", 1));
    test.fillEverything(&mut value).unwrap();
    assert_eq!((value.text.as_str(), value.number), ("filled", Everything::default().number));

    for shape in [
        Shape::default(),
        Shape::Number(3),
        Shape::Text("text".into()),
        Shape::Maybe(None),
        Shape::Maybe(Some("maybe".into())),
        Shape::Point(Point { x: 1, y: 2 }),
        Shape::Points(vec![]),
        Shape::Kind(ByteEnum::BAR),
    ] {
        assert_eq!(test.repeatShape(&shape).unwrap(), shape);
        assert_eq!(test.maybeShape(Some(&shape)).unwrap(), Some(shape));
    }
    let branch = Tree::Branches(vec![Tree::Leaf(1), Tree::Left(Some(Box::new(Tree::Leaf(2))))]);
    let tree = Tree::Branches(vec![branch.clone(), Tree::Left(None), branch]);
    assert_eq!(test.repeatTree(&tree).unwrap(), tree);
}

/// A parcelable for comparison, but for its binders, which show themselves differently at either end.
fn shown(value: &Everything) -> String {
    let Everything {
        flag,
        small,
        letter,
        number,
        large,
        single,
        precise,
        text,
        maybeText,
        utf8,
        flags,
        bytes,
        letters,
        numbers,
        larges,
        singles,
        precises,
        texts,
        maybeNumbers,
        maybeTexts,
        fixed,
        matrix,
        byteEnum,
        intEnum,
        longEnum,
        intEnums,
        point,
        points,
        maybePoint,
        list,
        pair,
        shape,
        lines,
        inner,
        file: _,
        binder: _,
        callback: _,
        callbacks,
        extra: _,
    } = value;
    format!(
        "{:?}",
        (
            (flag, small, letter, number, large, single, precise, text, maybeText, utf8),
            (flags, bytes, letters, numbers, larges, singles, precises, texts),
            (maybeNumbers, maybeTexts, fixed, matrix, byteEnum, intEnum, longEnum, intEnums),
            (point, points, maybePoint, list, pair, shape, lines, inner),
            callbacks
                .as_ref()
                .map(|callbacks| callbacks.iter().map(Option::is_some).collect::<Vec<_>>()),
        )
    )
}

/// Objects that come back are the same objects.
pub fn binders(test: &Strong<dyn ITest>) {
    let service = test.as_binder();
    assert_eq!(test.repeatBinder(&service).unwrap(), service);
    let (callback, _notices) = new_callback(1);
    let own = callback.as_binder();
    let back = test.repeatBinder(&own).unwrap();
    assert_eq!(back, own);
    assert!(!back.is_remote());
    let both = [service, own];
    assert_eq!(test.repeatBinders(&both).unwrap(), both);
    assert_eq!(test.maybeBinder(None).unwrap(), None);
    assert_eq!(test.maybeBinder(Some(&both[1])).unwrap().as_ref(), Some(&both[1]));
    let made = test.makeCallback(10).unwrap();
    assert_eq!(test.repeatBinder(&made.as_binder()).unwrap(), made.as_binder());
}

/// Calls in both directions.
pub fn callbacks(test: &Strong<dyn ITest>, without: Without) {
    let (callback, notices) = new_callback(100);
    assert_eq!(test.askThrough(&callback, 1).unwrap(), 101);
    assert_eq!(test.repeatCallback(&callback).unwrap().ask(2).unwrap(), 102);
    assert_eq!(test.maybeCallback(Some(&callback)).unwrap().unwrap().ask(3).unwrap(), 103);
    assert!(test.maybeCallback(None).unwrap().is_none());
    let back = test.repeatCallbacks(&[callback.clone(), callback.clone()]).unwrap();
    assert!(back.iter().all(|back| *back == callback));
    let made = test.makeCallback(7).unwrap();
    assert_eq!(made.ask(1).unwrap(), 8);
    assert_eq!(test.askThrough(&made, 2).unwrap(), 9);
    let secret = test.secret().unwrap();
    assert_eq!(secret.whisper("Word").unwrap(), "word");
    secret.forget().unwrap();
    if !without.late_callbacks {
        for number in 0..20 {
            test.noticeThrough(&callback, number).unwrap();
        }
        let mut noticed: Vec<i32> =
            (0..20).map(|_| notices.recv_timeout(HANG_TIMEOUT).unwrap()).collect();
        // Each one-way call to the service is a call of its own to the callback.
        noticed.sort_unstable();
        assert_eq!(noticed, (0..20).collect::<Vec<_>>());
    }
}

/// Exceptions, errors of the service's own, and statuses.
pub fn failures(test: &Strong<dyn ITest>) {
    for exception in ExceptionCode::ALL {
        if matches!(exception, ExceptionCode::NONE | ExceptionCode::TRANSACTION_FAILED) {
            continue;
        }
        let status = test.fail(exception.code(), "why").unwrap_err();
        assert_eq!(status.exception_code(), exception);
        assert_eq!(status.transaction_error(), StatusCode::OK);
        assert_eq!(status.message(), Some("why"));
    }
    let status = test.failSpecific(42, "").unwrap_err();
    assert_eq!(status.exception_code(), ExceptionCode::SERVICE_SPECIFIC);
    assert_eq!(status.service_specific_error(), 42);
    for code in [StatusCode::PERMISSION_DENIED, StatusCode::BAD_VALUE, StatusCode::TIMED_OUT] {
        let status = test.failStatus(code.code()).unwrap_err();
        assert_eq!(status.transaction_error(), code);
        assert_eq!(status.exception_code(), ExceptionCode::TRANSACTION_FAILED);
    }
    // The connection has survived all of it.
    assert_eq!(test.repeatInt(1).unwrap(), 1);
}

/// One-way calls of one object keep their order.
pub fn oneways(test: &Strong<dyn ITest>) {
    let before = test.added().unwrap().len();
    let wanted: Vec<i32> = (0..200).collect();
    for number in &wanted {
        test.add(*number).unwrap();
    }
    // A call does not wait for one-ways that were sent before it.
    wait_until(|| test.added().unwrap().len() >= before + wanted.len());
    assert_eq!(test.added().unwrap()[before..], wanted);
}

/// Files arrive open, and are closed when their last owner drops them.
pub fn files(test: &Strong<dyn ITest>) {
    assert!(test.maybeFile(None).unwrap().is_none());
    let (mut reader, writer) = std::io::pipe().unwrap();
    let writer = ParcelFileDescriptor::new(std::os::fd::OwnedFd::from(writer));
    let back = test.repeatFile(&writer).unwrap();
    let maybe = test.maybeFile(Some(&writer)).unwrap().unwrap();
    let mut copies = vec![None];
    let mut reversed = test.reverseFiles(&[writer], &mut copies).unwrap();
    let copy = copies.remove(0).unwrap();
    for file in [back, maybe, copy, reversed.remove(0)] {
        File::from(std::os::fd::OwnedFd::from(file)).write_all(b"x").unwrap();
    }
    let mut written = String::new();
    reader.read_to_string(&mut written).unwrap();
    assert_eq!(written, "xxxx");
}
