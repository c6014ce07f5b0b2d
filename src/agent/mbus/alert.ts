import type { ServiceAlert } from '../monit/rule-checks.ts';
import type { Settings } from '../settings/settings.ts';

/** Severities of the health monitor (bosh-agent: agent/alert/monit_adapter.go). */
const severities: ReadonlyMap<string, number> = new Map([
  ['Does not exist', 1],
  ['Execution failed', 1],
  ['Connection failed', 1],
  ['Timeout', 2],
  ['Checksum failed', 2],
  ['Resource limit matched', 3],
]);
const otherSeverity = 2;

/** Returns a problem of a service in the form of the health monitor. `now` is in milliseconds. */
export function formatAlert(
  { service, event, action }: ServiceAlert,
  { settings, id, now }: { readonly settings: Settings; readonly id: string; readonly now: number },
): Record<string, unknown> {
  const addresses = [...settings.networks.values()].flatMap(({ ip }) => ip ?? []).toSorted();
  const where = addresses.length === 0 ? '' : ` (${addresses.join(', ')})`;
  return {
    id,
    severity: severities.get(event) ?? otherSeverity,
    title: `${service}${where} - ${event} - ${action}`,
    summary: event,
    created_at: Math.floor(now / 1000),
  };
}
