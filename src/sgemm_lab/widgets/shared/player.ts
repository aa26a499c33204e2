/** What a player moves: a step from 0 to `last`. */
interface Played {
  /** what the reader sees of it */
  root: () => Element;
  /** the present step */
  at: () => number;
  last: () => number;
  /** goes to a step */
  show: (step: number) => void;
  /** after play or pause */
  redraw: () => void;
  /** ms per step */
  pace: () => number;
  /** what follows after the last step */
  end?: () => void;
}

/** Goes on step by step until it is stopped, out of sight or at the end. */
export class Player {
  timer: number | undefined;
  sight: IntersectionObserver | undefined;

  constructor(public played: Played) {
    this.timer = undefined;
  }

  get plays() {
    return this.timer !== undefined;
  }

  toggle() {
    if (this.plays) this.stop();
    else this.start();
  }

  start() {
    const { root, at, last, show, pace } = this.played;
    if (at() >= last()) show(0);
    this.timer = setInterval(() => this.step(), pace());
    this.sight = new IntersectionObserver((seen) => {
      if (!seen[seen.length - 1].isIntersecting) this.stop();
    });
    this.sight.observe(root());
    this.step();
  }

  step() {
    const { at, last, show, end } = this.played;
    if (at() < last()) return show(at() + 1);
    this.stop();
    end?.();
  }

  stop() {
    this.close();
    this.played.redraw();
  }

  /** Stop at a step. */
  go(step: number) {
    this.stop();
    this.played.show(step);
  }

  /** Stop for good: nothing is drawn again. */
  close() {
    clearInterval(this.timer);
    this.sight?.disconnect();
    this.timer = undefined;
  }
}
