/** One difference of a release. */
export interface Difference {
  /** The differing part: `job web`, `web/templates/ctl.erb`. */
  readonly what: string;
  readonly how: string;
}
