/**
 * `warning`: only some layouts need it. `unknown`: it could not be checked, because a right is missing or an
 * earlier step failed.
 */
export type FindingResult = 'ok' | 'warning' | 'failed' | 'unknown';

/** One row of the table that `doctor` prints. */
export interface Finding {
  /** The node, the namespace, the class, or the other part of the cluster that was examined. */
  readonly subject: string;
  readonly check: string;
  readonly result: FindingResult;
  /** What was found. */
  readonly detail: string;
  /** The programs or layouts that need it. */
  readonly neededBy: string;
  /** What the operator can do about it. Empty if the result is `ok`. */
  readonly remedy: string;
}

/** A check that is the same for every subject: its name, who needs it, and what to do if it fails. */
export interface Requirement {
  readonly check: string;
  readonly neededBy: string;
  /** The result if it is not met. */
  readonly otherwise: 'warning' | 'failed';
  readonly remedy: string;
}

/** Returns the row of a requirement that is met. */
export function met({ check, neededBy }: Requirement, subject: string, detail: string): Finding {
  return { subject, check, result: 'ok', detail, neededBy, remedy: '' };
}

/** Returns the row of a requirement that is not met. */
export function unmet(requirement: Requirement, subject: string, detail: string): Finding {
  const { check, neededBy, otherwise, remedy } = requirement;
  return { subject, check, result: otherwise, detail, neededBy, remedy };
}

/** Returns the row of a requirement that the user may not check. `right` is what is missing: `list nodes`. */
export function notAllowed({ check, neededBy }: Requirement, subject: string, right: string): Finding {
  const remedy = `use a kubeconfig with the right to ${right}`;
  return { subject, check, result: 'unknown', detail: `you may not ${right}`, neededBy, remedy };
}

/** Returns the row of a requirement that was not checked. `remedy` says how it can be. */
export function unchecked(
  { check, neededBy }: Requirement,
  subject: string,
  { detail, remedy }: { readonly detail: string; readonly remedy: string },
): Finding {
  return { subject, check, result: 'unknown', detail, neededBy, remedy };
}
