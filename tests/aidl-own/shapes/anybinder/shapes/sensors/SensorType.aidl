/*
 * Kinds of sensors.
 */
package anybinder.shapes.sensors;

/** Kinds. */
@VintfStability
@Backing(type="int")
enum SensorType {
    META_DATA = 0,
    ACCELEROMETER = 1,
    MAGNETIC_FIELD,
    /** @deprecated by ROTATION */
    ORIENTATION = (1 << 1) + 1,
    HINGE_ANGLE = 36,
    DEVICE_PRIVATE_BASE = 0x10000,
}
