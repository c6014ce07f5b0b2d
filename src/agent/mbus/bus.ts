import type { BusCertificate } from '../settings/settings.ts';
import type { DispatchOptions } from './dispatch.ts';

/** The way by which a director, or create-env, reaches the agent. */
export interface Bus {
  /** The port on which the bus listens; undefined if it connects to a server. */
  readonly port: number | undefined;
  /** True if heartbeats are due, because a health monitor counts an agent without them as dead. */
  readonly hasHealthMonitor: boolean;
  /** Begins to take requests. Rejects if the bus cannot listen. */
  start(dispatch: DispatchOptions): Promise<void>;
  /**
   * Exchanges the certificate without losing a request, and calls `commit` as soon as the new one is
   * accepted. Rejects, and keeps the previous one, if it is not accepted or if `commit` rejects.
   */
  exchangeCertificate(certificate: BusCertificate, commit: () => Promise<void>): Promise<void>;
  /** Publishes an event for the health monitor, if the bus has one. An event that cannot be sent is lost. */
  publish(event: 'heartbeat' | 'alert' | 'shutdown', body: unknown): void;
  /** Takes and answers nothing more. */
  close(): Promise<void>;
}
