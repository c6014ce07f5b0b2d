import type { ServiceAlert } from '../monit/service-alert.ts';
import type { Settings } from '../settings/settings.ts';

/** Severities of the health monitor: 1 is the highest (bosh-agent: agent/alert/monit_adapter.go). */
const severities: Readonly<Record<ServiceAlert['event'], number>> = {
  'Does not exist': 1,
  'Execution failed': 1,
  'Connection failed': 1,
  Timeout: 2,
  'Resource limit matched': 3,
  'Checksum changed': 4,
  'PID changed': 4,
  'PPID changed': 4,
  'Timestamp changed': 4,
};

/** Returns a problem of a service in the form of the health monitor. `now` is in milliseconds. */
export function formatAlert(
  { service, event, action }: ServiceAlert,
  { settings, id, now }: { readonly settings: Settings; readonly id: string; readonly now: number },
): Record<string, unknown> {
  const addresses = [...settings.networks.values()].flatMap(({ ip }) => ip ?? []).toSorted();
  const where = addresses.length === 0 ? '' : ` (${addresses.join(', ')})`;
  return {
    id,
    severity: severities[event],
    title: `${service}${where} - ${event} - ${action}`,
    summary: event,
    created_at: Math.floor(now / 1000),
  };
}
