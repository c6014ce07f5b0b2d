/** What is not the same of a release. */
export interface Difference {
  /** `job web`, `web/templates/ctl.erb`. */
  readonly what: string;
  readonly how: string;
}
