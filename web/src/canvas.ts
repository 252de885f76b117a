// A canvas that has as many pixels as its place on the screen, and is painted once a frame at most.

/** A length in pixels of the screen: a picture that is moved by a part of one would be blurred. */
function inPixels(length: number): number {
  return Math.round(length * devicePixelRatio);
}

export class Painter {
  /** Of the picture. */
  readonly context: CanvasRenderingContext2D;
  width = 0;
  height = 0;
  /** The visible part of the picture, and how far it has been moved since the picture was painted. */
  private readonly screen: CanvasRenderingContext2D;
  private offset = { x: 0, y: 0 };
  private isDue = false;
  private isStale = true;

  /** With a margin, so much beyond the edges of the canvas is painted as well: to move the picture within it paints nothing anew. */
  constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly paint: () => void,
    private readonly margin = 0,
  ) {
    this.screen = canvas.getContext("2d")!;
    this.context = margin > 0 ? document.createElement("canvas").getContext("2d")! : this.screen;
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.resize();
  }

  private resize(): void {
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    for (const [canvas, margin] of [[this.context.canvas, this.margin], [this.canvas, 0]] as const) {
      canvas.width = inPixels(this.width + 2 * margin);
      canvas.height = inPixels(this.height + 2 * margin);
    }
    this.request();
  }

  /** Paints with the next frame. */
  request(): void {
    this.isStale = true;
    this.plan();
  }

  /** Shows the picture with the next frame, moved by so much since it was painted; paints it anew beyond the margin. */
  move(x: number, y: number): void {
    this.offset = { x, y };
    if (Math.max(Math.abs(x), Math.abs(y)) > this.margin) this.isStale = true;
    this.plan();
  }

  private plan(): void {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      if (this.isStale) this.repaint();
      if (this.margin > 0) this.show();
    });
  }

  private repaint(): void {
    const { context, margin, width, height } = this;
    this.isStale = false;
    this.offset = { x: 0, y: 0 };
    const scale = devicePixelRatio;
    context.setTransform(scale, 0, 0, scale, inPixels(margin), inPixels(margin));
    context.clearRect(-margin, -margin, width + 2 * margin, height + 2 * margin);
    this.paint();
  }

  private show(): void {
    const { screen, canvas, margin, offset } = this;
    screen.clearRect(0, 0, canvas.width, canvas.height);
    screen.drawImage(this.context.canvas, inPixels(offset.x - margin), inPixels(offset.y - margin));
  }
}
