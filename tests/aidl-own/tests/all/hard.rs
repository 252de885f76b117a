//! Our own interfaces, which use what those of the AIDL tests do not, called through parcels.

#![expect(clippy::unwrap_used, reason = "these are tests")]
#![expect(deprecated, reason = "what is deprecated is called, too")]

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Sender, channel};

use aidl_tests::aidl::anybinder::hard::Choice::{self, Choice as AChoice, Tag::Tag};
use aidl_tests::aidl::anybinder::hard::IHard::{
    self as hard, BnHard, BpHard, Color::Color, IHard, Pair::Pair, transactions,
};
use aidl_tests::aidl::anybinder::hard::Many::{Many, Part::Deep::Deep, Part::Part};
use aidl_tests::by_hand::Twice;
use aidl_tests::service::copy_of;
use binder::binder_impl::{FIRST_CALL_TRANSACTION, Proxy};
use binder::{
    BinderFeatures, ExceptionCode, Interface, ParcelFileDescriptor, ParcelableHolder, SpIBinder,
    StatusCode, Strong,
};
use binder_testkit::HANG_TIMEOUT;

struct Hard {
    noticed: Sender<(Vec<Option<String>>, i32)>,
}

impl Interface for Hard {}

impl IHard for Hard {
    fn repeat(&self, many: &Many) -> binder::Result<Many> {
        Ok(copy_of(many)?)
    }

    fn choose(&self, choice: &AChoice) -> binder::Result<AChoice> {
        Ok(copy_of(choice)?)
    }

    fn which(&self, choice: &AChoice) -> binder::Result<Tag> {
        Ok(match choice {
            AChoice::Binder(_) => Tag::binder,
            AChoice::MaybeFile(_) => Tag::maybeFile,
            AChoice::File(_) => Tag::file,
            AChoice::Pair(_) => Tag::pair,
            AChoice::Inner(_) => Tag::inner,
            AChoice::Color(_) => Tag::color,
            AChoice::Tag(tag) => *tag,
        })
    }

    fn part(&self, part: Option<&Part>, parts: &mut Vec<Part>) -> binder::Result<Option<Part>> {
        parts.extend(part.cloned());
        Ok(part.cloned())
    }

    fn fixed(
        &self,
        value: &[[i32; 2]; 3],
        filled: &mut [i32; 40],
        bytes: &mut [u8; 3],
    ) -> binder::Result<[[i32; 2]; 3]> {
        filled[39] = 39;
        bytes.reverse();
        Ok(*value)
    }

    fn objects(
        &self,
        fixed: &mut [Option<SpIBinder>; 2],
        changed: &mut Vec<SpIBinder>,
        listed: &mut Vec<Option<SpIBinder>>,
    ) -> binder::Result<()> {
        let first = changed.pop().ok_or(StatusCode::BAD_VALUE)?;
        *fixed = [Some(first.clone()), Some(first.clone())];
        listed.push(changed.is_empty().then_some(first));
        Ok(())
    }

    fn twice(
        &self,
        all: &[Twice],
        one: &mut Twice,
        none: &mut Option<Twice>,
    ) -> binder::Result<Twice> {
        assert_eq!(*none, None);
        *none = all.first().copied();
        one.0 += 1;
        Ok(Twice(all.iter().map(|it| it.0).sum()))
    }

    fn colors(
        &self,
        colors: &[Color],
        more: &mut Option<Vec<Color>>,
    ) -> binder::Result<Vec<Color>> {
        more.iter_mut().for_each(|it| it.push(Color::BLUE));
        Ok(colors.to_vec())
    }

    fn file(&self, file: &mut ParcelFileDescriptor) -> binder::Result<ParcelFileDescriptor> {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"filled").unwrap();
        Ok(std::mem::replace(file, ParcelFileDescriptor::new(OwnedFd::from(reader))))
    }

    fn held(
        &self,
        holder: &ParcelableHolder,
        changed: &mut ParcelableHolder,
    ) -> binder::Result<ParcelableHolder> {
        *changed = ParcelableHolder::default();
        Ok(copy_of(holder)?)
    }

    fn pairs(&self, pairs: &[Pair<i32, Twice>]) -> binder::Result<Pair<Color, Pair<String, Part>>> {
        let mut pair = Pair::default();
        pair.first = pairs.iter().map(|it| it.first).sum();
        Ok(pair)
    }

    fn notice(
        &self,
        words: Option<&[Option<String>]>,
        itself: &Strong<dyn IHard>,
        number: i32,
    ) -> binder::Result<()> {
        assert!(itself.as_binder().is_remote() || number > 0);
        self.noticed.send((words.unwrap_or_default().to_vec(), number)).unwrap();
        Ok(())
    }
}

/// A proxy of a service of this process: every call goes through parcels.
fn service() -> Strong<dyn IHard> {
    let hard = Hard { noticed: channel().0 };
    through_parcels(&BnHard::new_binder(hard, BinderFeatures::default()))
}

fn through_parcels(service: &Strong<dyn IHard>) -> Strong<dyn IHard> {
    Strong::new(Box::new(BpHard::from_binder(service.as_binder()).unwrap()))
}

/// What has no value to begin with, filled in.
fn whole(service: &Strong<dyn IHard>) -> Many {
    let object = || Some(service.as_binder());
    Many {
        binder: object(),
        file: Some(ParcelFileDescriptor::new(File::open("/dev/null").unwrap())),
        services: vec![service.clone()],
        pair: [object(), object()],
        square: [[object(), object()]],
        ..Many::default()
    }
}

#[test]
fn constants_and_defaults_are_what_their_expressions_say() {
    assert_eq!((hard::YES, hard::BYTE, hard::LETTER), (true, -1, 0x20ac));
    assert_eq!((hard::FAR, hard::SINGLE, hard::TEXT), (i64::MIN, 1e-9, "abd"));
    assert_eq!((hard::SIZE, Choice::NAME), (3, "choice"));
    let colors = [Color::RED, Color::GREEN, Color::BLUE, Color::r#type].map(|it| it.0);
    assert_eq!(colors, [1 << 40, (1 << 40) + 1, -(1 << 40) - 1, 7]);
    let many = Many::default();
    assert_eq!(many.numbers, [0; 33]);
    assert_eq!(many.words, Some(vec![Some("a".into()), Some("bc".into())]));
    assert_eq!((many.word.as_deref(), many.two), (Some("word"), Some([1, i32::MAX])));
    assert_eq!((many.bytes, many.few), (vec![255, 255, 127], [255, 1]));
    assert_eq!((many.letter, many.flags), (0, vec![true, false]));
    assert_eq!((many.color, many.colors), (Color::r#type, vec![Color::RED, Color::GREEN]));
    assert_eq!((many.tiny, many.doubles), (-1e-12, vec![1.0, 2.5, 0.125]));
    assert_eq!(many.part, Part { depth: 1, deep: Deep::A(1) });
    assert_eq!(<BpHard as Proxy>::get_descriptor(), "anybinder.hard.IRenamed");
}

#[test]
fn methods_have_the_numbers_that_they_say() {
    let codes = [transactions::repeat, transactions::choose, transactions::which];
    assert_eq!(codes.map(|code| code - FIRST_CALL_TRANSACTION), [20, 3, 4]);
}

#[test]
fn parcelables_come_back_as_they_went() {
    let service = service();
    let mut many = whole(&service);
    many.inner = Some(Box::new(whole(&service)));
    many.maybeParts = Some([None, Some(Part::default()), None]);
    many.twice = Twice(4);
    let back = service.repeat(&many).unwrap();
    assert_eq!((back.binder, back.pair), (many.binder, many.pair));
    assert_eq!((back.square, back.services), (many.square, many.services));
    assert_eq!((back.maybeParts, back.twice), (many.maybeParts, many.twice));
    assert_eq!(back.inner.unwrap().word.as_deref(), Some("word"));
}

#[test]
fn what_must_be_there_is_missed() {
    let service = service();
    let missing = |change: fn(&mut Many)| {
        let mut many = whole(&service);
        change(&mut many);
        service.repeat(&many).unwrap_err().transaction_error()
    };
    assert_eq!(missing(|it| it.binder = None), StatusCode::UNEXPECTED_NULL);
    assert_eq!(missing(|it| it.file = None), StatusCode::UNEXPECTED_NULL);
    assert_eq!(missing(|it| it.pair[1] = None), StatusCode::UNEXPECTED_NULL);
    assert_eq!(missing(|it| it.square[0][1] = None), StatusCode::UNEXPECTED_NULL);
    let refused = service.choose(&AChoice::File(None)).unwrap_err();
    assert_eq!(refused.transaction_error(), StatusCode::UNEXPECTED_NULL);
}

#[test]
fn unions_know_which_of_their_fields_they_have() {
    let service = service();
    let object = service.as_binder();
    for (choice, tag) in [
        (AChoice::Binder(Some(object)), Tag::binder),
        (AChoice::MaybeFile(None), Tag::maybeFile),
        (AChoice::Pair([5, 6]), Tag::pair),
        (AChoice::Inner(Some(Box::new(AChoice::Inner(None)))), Tag::inner),
        (AChoice::Color(Color::r#type), Tag::color),
        (AChoice::Tag(Tag::file), Tag::file),
    ] {
        assert_eq!(service.which(&choice).unwrap(), tag);
        let back = service.choose(&choice).unwrap();
        assert_eq!(format!("{back:?}"), format!("{choice:?}"));
    }
    assert!(matches!(AChoice::default(), AChoice::Binder(None)));
    assert_eq!(Deep::default(), Deep::A(1));
}

#[test]
fn arguments_go_the_ways_that_are_said() {
    let service = service();
    let part = Part { depth: 9, deep: Deep::B([1, 2]) };
    let mut parts = vec![];
    assert_eq!(service.part(Some(&part), &mut parts).unwrap(), Some(part.clone()));
    assert_eq!(parts, [part]);
    assert_eq!(service.part(None, &mut parts).unwrap(), None);

    let (mut filled, mut bytes) = ([1; 40], [1, 2, 3]);
    let value = [[1, 2], [3, 4], [5, 6]];
    assert_eq!(service.fixed(&value, &mut filled, &mut bytes).unwrap(), value);
    assert_eq!((filled[0], filled[39], bytes), (0, 39, [3, 2, 1]));

    let (mut one, mut none) = (Twice(1), Some(Twice(7)));
    let sum = service.twice(&[Twice(2), Twice(3)], &mut one, &mut none).unwrap();
    assert_eq!((sum, one, none), (Twice(5), Twice(2), Some(Twice(2))));

    let mut more = Some(vec![Color::RED]);
    assert_eq!(service.colors(&[Color::GREEN], &mut more).unwrap(), [Color::GREEN]);
    assert_eq!(more, Some(vec![Color::RED, Color::BLUE]));
    more = None;
    service.colors(&[], &mut more).unwrap();
    assert_eq!(more, None);

    let mut pair = Pair::default();
    pair.first = 4;
    assert_eq!(service.pairs(&[pair, Pair::default()]).unwrap().first, 7);
}

#[test]
fn objects_and_files_come_out() {
    let service = service();
    let object = service.as_binder();
    let (mut fixed, mut listed) = ([None, None], vec![]);
    let mut changed = vec![object.clone()];
    service.objects(&mut fixed, &mut changed, &mut listed).unwrap();
    assert_eq!(fixed, [Some(object.clone()), Some(object.clone())]);
    assert_eq!((changed, listed), (vec![], vec![Some(object.clone())]));
    // The service leaves an element out.
    let mut two = vec![object.clone(), object];
    let refused = service.objects(&mut fixed, &mut two, &mut vec![]).unwrap_err();
    assert_eq!(refused.exception_code(), ExceptionCode::NULL_POINTER);

    let mut file = ParcelFileDescriptor::new(File::open("/dev/null").unwrap());
    service.file(&mut file).unwrap();
    let mut text = [0; 6];
    File::from(OwnedFd::from(file)).read_exact(&mut text).unwrap();
    assert_eq!(&text, b"filled");
}

#[test]
fn a_one_way_method_has_no_answer() {
    let (noticed, notices) = channel();
    let own = BnHard::new_binder(Hard { noticed }, BinderFeatures::default());
    let service = through_parcels(&own);
    service.notice(Some(&[None, Some("word".into())]), &own, 3).unwrap();
    let wanted = (vec![None, Some("word".to_owned())], 3);
    assert_eq!(notices.recv_timeout(HANG_TIMEOUT).unwrap(), wanted);
}

#[test]
fn a_holder_passes_through() {
    let service = service();
    let mut changed = ParcelableHolder::default();
    service.held(&ParcelableHolder::default(), &mut changed).unwrap();
    assert!(changed.get_parcelable::<Part>().unwrap().is_none());
}
