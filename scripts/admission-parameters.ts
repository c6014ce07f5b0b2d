import { stringify } from 'yaml';
import { holdScript } from '../src/cpi/disk/attach/scripts/hold.ts';
import { sweepScript } from '../src/cpi/disk/attach/scripts/volume-functions.ts';

export const manifestDirectory = new URL('../manifests/admission/', import.meta.url);

const header = `# The parameters of attachments-only.yaml: which accounts make pods in the disks' namespace, and which scripts run in these.
# The accounts are usernames, one a line, as \`kubectl auth whoami\` shows them to each CPI; nothing else is yours to change.
# The account of manifests/rbac is filled in. The scripts are those of this version of the CPI:
# apply this file again when you upgrade the CPI. Bind no role in the namespace bosh-admission.
#
# Made by: node scripts/run.mjs scripts/write-admission-parameters.ts
`;

/** Returns the text of manifests/admission/parameters.yaml. */
export function admissionParameters(): string {
  const namespace = 'bosh-admission';
  const parameters = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'bosh-attachments', namespace },
    data: {
      accounts: 'system:serviceaccount:bosh:bosh-cpi\n',
      'hold.sh': holdScript,
      'sweep.sh': sweepScript,
    },
  };
  const written = [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }, parameters];
  return header + written.map((object) => stringify(object, { lineWidth: 0 })).join('---\n');
}
