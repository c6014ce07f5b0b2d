/** Titles of the columns that the bosh CLI prints, by their keys. */
const headers = {
  instances: {
    instance: 'Instance',
    process_state: 'Process State',
    az: 'AZ',
    ips: 'IPs',
    deployment: 'Deployment',
    state: 'State',
    vm_cid: 'VM CID',
    vm_type: 'VM Type',
    disk_cids: 'Disk CIDs',
  },
  disks: {
    disk_cid: 'Disk CID',
    size: 'Size',
    deployment: 'Deployment',
    instance: 'Instance',
    az: 'AZ',
    orphaned_at: 'Orphaned At',
  },
  snapshots: { instance: 'Instance', cid: 'CID', created_at: 'Created At', clean: 'Clean' },
  orphaned_vms: {
    vm_cid: 'VM CID',
    deployment: 'Deployment',
    instance: 'Instance',
    az: 'AZ',
    ips: 'IPs',
    orphaned_at: 'Orphaned At',
  },
} as const;

export interface BoshJsonOptions {
  /** The deployment of `-d`. */
  readonly deployment?: string;
  readonly environment?: string;
  readonly lines?: readonly string[];
}

/** Returns the output of a command of the bosh CLI with `--json` (bosh-cli: ui/json_ui.go). */
export function boshJson(
  content: keyof typeof headers,
  rows: readonly Readonly<Record<string, string>>[],
  { deployment, environment = '10.0.0.6', lines }: BoshJsonOptions = {},
): string {
  const header = headers[content];
  const empty = Object.fromEntries(Object.keys(header).map((key) => [key, '']));
  const table = {
    Content: content,
    Header: header,
    Rows: rows.map((row) => ({ ...empty, ...row })),
    Notes: null,
  };
  const intro = [
    `Using environment '${environment}' as client 'admin'`,
    ...(deployment === undefined ? [] : [`Using deployment '${deployment}'`]),
  ];
  return JSON.stringify({ Tables: [table], Blocks: null, Lines: lines ?? [...intro, 'Succeeded'] }, null, 4);
}
