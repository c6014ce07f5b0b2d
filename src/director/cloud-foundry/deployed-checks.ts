import { X509Certificate } from 'node:crypto';
import { pemProblem } from '../../kubernetes/access/pem.ts';
import type { Field } from '../../platform/field.ts';
import { commandsFile } from '../director-directory.ts';
import type { Check } from '../preflight-checks.ts';
import type { DeployedFoundry } from './deployed-foundry.ts';
import { foundryFolder, varsStore } from './foundry-commands.ts';
import type { FoundryRecord } from './foundry-record.ts';

/** A run of init with Cloud Foundry. */
export interface DeployedSpec {
  /** What the run would record. */
  readonly next: FoundryRecord;
  /** What the previous run recorded. Undefined: the folder had no Cloud Foundry. */
  readonly previous: FoundryRecord | undefined;
  /** True if the operator named layout and system domain. */
  readonly isNamed: boolean;
  readonly namespace: string;
}

/**
 * Returns the findings that protect the data of a deployed Cloud Foundry, in the order of the table. Throws
 * VARS_STORE_INVALID for a damaged certificate.
 */
export function deployedChecks(spec: DeployedSpec, deployed: DeployedFoundry | undefined): Check[] {
  if (deployed === undefined) return [];
  return [
    ...layoutChecks(spec),
    ...varsStoreChecks(spec, deployed),
    ...certificateChecks(spec, deployed),
    ...lossChecks(spec),
  ];
}

function layoutChecks({ next, previous, isNamed, namespace }: DeployedSpec): Check[] {
  const name = 'Layout';
  if (previous === undefined) {
    if (isNamed) return [];
    const detail =
      `a Cloud Foundry is deployed in the namespace '${namespace}', and this folder does not know its layout, which decides about ` +
      `its database: copy ${varsStore} and cf-dns.yml of its deployment into the folder, and name --layout and --system-domain`;
    return [{ name, result: 'missing', detail, isNeeded: true }];
  }
  if (previous.layout === next.layout) return [];
  const detail =
    `the Cloud Foundry of this folder has the layout ${previous.layout}, and another layout has another database, without its ` +
    `data: keep --layout ${previous.layout}, or choose another folder and --namespace, or delete the deployment ` +
    `with its data (bosh -d cf delete-deployment) and move ${varsStore} away`;
  return [{ name, result: 'missing', detail, isNeeded: true }];
}

/** A director with CredHub has the variables, so this is not needed. */
function varsStoreChecks({ namespace }: DeployedSpec, { variables }: DeployedFoundry): Check[] {
  if (variables !== undefined) return [];
  const detail =
    `VMs of Cloud Foundry are in the namespace '${namespace}', and the folder has no ${varsStore}, so commands.sh ends before ` +
    `the deployment: copy ${varsStore} and cf-dns.yml of its deployment into the folder; if the director has CredHub, remove the ` +
    `line with 'test -f ${varsStore}' and '--vars-store ${varsStore}' from commands.sh`;
  return [{ name: 'Vars store', result: 'missing', detail }];
}

/** Names below the system domain in certificates of cf-deployment v58.0.0, by their variables. */
const certificateNames = {
  blobstore_public: 'blobstore',
  cc_logcache_tls: 'api',
  cc_public_tls: 'api',
  credhub_tls: 'credhub',
  logcache_ssl: 'log-cache',
  loggregator_rlp_gateway_tls: 'log-stream',
  loggregator_trafficcontroller_tls: 'doppler',
  network_policy_server_external: 'api',
  router_ssl: '*',
};

/** The bosh CLI keeps a certificate of the vars store even if its names in the manifest change. */
function certificateChecks({ next }: DeployedSpec, { variables }: DeployedFoundry): Check[] {
  if (variables === undefined) return [];
  const { system_domain: domain = '' } = next.variables;
  const stale = Object.entries(certificateNames).flatMap(([variable, label]) => {
    const names = namesIn(variables.get(variable).get('certificate'), label);
    const [other] = names;
    return other === undefined || names.includes(`${label}.${domain}`) ? [] : [{ variable, other }];
  });
  const [first] = stale;
  if (first === undefined) return [];
  const detail =
    `the certificate ${first.variable} of the deployed Cloud Foundry is for ${first.other}, and not for the system domain ${domain}: name the domain ` +
    `of the deployment with --system-domain or, to change it, remove ${stale.map(({ variable }) => variable).join(', ')} from ` +
    `${varsStore}; apps keep their routes below the previous domain`;
  return [{ name: 'Certificates', result: 'missing', detail, isNeeded: true }];
}

/** Returns the certificate's names with the first label, without the internal ones. */
function namesIn(certificate: Field, label: string): readonly string[] {
  if (!certificate.isPresent) return [];
  const isPem = (text: string): boolean => pemProblem(text, 'certificate') === undefined;
  const pem = certificate.stringThat(isPem, 'must be a certificate in PEM');
  const { subjectAltName = '' } = new X509Certificate(pem);
  return subjectAltName
    .split(', ')
    .map((name) => name.replace(/^DNS:/u, ''))
    .filter((name) => name.startsWith(`${label}.`) && !name.endsWith('.cf.internal'));
}

function lossChecks({ next, previous }: DeployedSpec): Check[] {
  const oneCell = 'the next deployment replaces the network of apps by silk, which needs vxlan on the nodes';
  const volumes =
    'the next deployment removes the drivers and brokers of NFS and SMB shares from Cloud Foundry';
  return [
    ...(previous?.hasOneCell === true && !next.hasOneCell
      ? [lossCheck('One cell', `${oneCell}: keep it with --one-cell`)]
      : []),
    ...(previous?.hasVolumeServices === true && !next.hasVolumeServices
      ? [lossCheck('Volume services', `${volumes}: keep them with --volume-services`)]
      : []),
  ];
}

const lossCheck = (name: string, detail: string): Check => ({ name, result: 'missing', detail });

/**
 * Returns the findings of a run without --with: it must not replace a deployed Cloud Foundry by
 * examples/hello.
 */
export function unnamedChecks(
  previous: FoundryRecord | undefined,
  namespace: string,
  deployed: DeployedFoundry | undefined,
): Check[] {
  const name = 'Cloud Foundry';
  if (deployed === undefined) return [];
  if (previous === undefined) {
    const detail =
      `it is deployed in the namespace '${namespace}', and section 4 of commands.sh would give the director the cloud-config of ` +
      'examples/hello: add --with cloud-foundry';
    return [{ name, result: 'missing', detail }];
  }
  const { layout, hasOneCell, hasVolumeServices } = previous;
  const flags = `${hasOneCell ? ' --one-cell' : ''}${hasVolumeServices ? ' --volume-services' : ''}`;
  return [{ name, result: 'ok', detail: `kept, because it is deployed: --layout ${layout}${flags}` }];
}

/** Returns the finding of a run that could not find out whether a Cloud Foundry is deployed. */
export function unknownFoundryCheck(namespace: string): Check {
  const detail =
    `you may not list pods in '${namespace}', so it is not known whether one is deployed there; if one is, name --with cloud-foundry ` +
    'with its --layout and --system-domain';
  return { name: 'Cloud Foundry', result: 'unknown', detail };
}

/** The files that differ between the layouts. */
const filesOfLayout = [commandsFile, `${foundryFolder}/cloud-config.yml`, `${foundryFolder}/vars.yml`];

/** Returns the findings about edited files, which would stay those of the previous layout. */
export function editedFileChecks(
  edited: readonly string[],
  previous: FoundryRecord | undefined,
  next: FoundryRecord | undefined,
): Check[] {
  const found = edited.filter((path) => filesOfLayout.includes(path));
  if (previous === undefined || next === undefined || previous.layout === next.layout) return [];
  if (found.length === 0) return [];
  const them = found.length === 1 ? 'it' : 'them';
  const detail =
    `${found.join(' and ')} would stay edited for the layout ${previous.layout}: move ${them} away, so that this run can write ` +
    `${them} for the layout ${next.layout}, or keep --layout ${previous.layout}`;
  return [{ name: 'Edited files', result: 'missing', detail, isNeeded: true }];
}
