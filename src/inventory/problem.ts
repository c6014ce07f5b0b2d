import type { KubernetesObject } from '../kubernetes/object.ts';

/** A state that needs an action of the operator, or an explanation. */
export interface Problem {
  readonly kind: 'VM' | 'disk' | 'snapshot' | 'network' | 'node' | 'quota';
  /** The cid, or the name in Kubernetes. */
  readonly object: string;
  /** The name in BOSH, for example `dep/web/0`. */
  readonly name: string | undefined;
  readonly problem: string;
  readonly next: string;
  /** `info`: nothing is broken, but there is something to do or to know. */
  readonly severity: 'error' | 'info';
}

/** What explains the state of an object. */
export interface Surroundings {
  /** Milliseconds since the epoch, by the clock of the server. */
  readonly now: number;
  /** Returns the last warning of Kubernetes about the object; undefined if there is none. */
  readonly warningFor: (object: KubernetesObject) => string | undefined;
  /** Returns since when the node does not answer; undefined if it answers, or nodes may not be listed. */
  readonly silentSince: (node: string | undefined) => string | undefined;
  /** False if the node was deleted. True if nodes may not be listed. */
  readonly nodeExists: (node: string) => boolean;
  /** False if the account may not list the pods that attach disks. */
  readonly knowsAttachments: boolean;
}

/** A problem of one object, without the object. */
export type Finding = Pick<Problem, 'problem' | 'next'> & { readonly severity?: Problem['severity'] };

/** After this time a step of Kubernetes that usually takes seconds is a problem. */
export const lateMs = 5 * 60_000;
