package anybinder.platform;
import android.os.PersistableBundle;
interface IBundles {
    PersistableBundle[] repeat(in PersistableBundle first, in @nullable PersistableBundle second);
}
