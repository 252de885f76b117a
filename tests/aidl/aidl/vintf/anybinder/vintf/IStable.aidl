package anybinder.vintf;
import anybinder.vintf.Held;
@VintfStability
interface IStable { Held repeat(in Held value); }
