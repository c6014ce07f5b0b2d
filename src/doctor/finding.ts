/** `warning`: only some layouts need it. */
export type FindingResult = 'ok' | 'warning' | 'failed';

/** One row of the table that `doctor` prints. */
export interface Finding {
  /** The node or the other part of the cluster that was examined. */
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
