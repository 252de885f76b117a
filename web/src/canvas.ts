// A canvas that has as many pixels as its place on the screen, and is painted once a frame at most.

export class Painter {
  readonly context: CanvasRenderingContext2D;
  width = 0;
  height = 0;
  private isDue = false;

  constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly paint: () => void,
  ) {
    this.context = canvas.getContext("2d")!;
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.resize();
  }

  private resize(): void {
    const scale = devicePixelRatio;
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    this.canvas.width = Math.round(this.width * scale);
    this.canvas.height = Math.round(this.height * scale);
    this.request();
  }

  /** Has it painted with the next frame. */
  request(): void {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      const scale = devicePixelRatio;
      this.context.setTransform(scale, 0, 0, scale, 0, 0);
      this.context.clearRect(0, 0, this.width, this.height);
      this.paint();
    });
  }
}
