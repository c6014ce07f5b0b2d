import type { ScriptedVm } from './scripted-vm.ts';

const recordKeys = [
  ...['id', 'num_id', 'instance_group', 'group_ids', 'az', 'az_id', 'network'],
  ...['network_id', 'deployment', 'ip', 'domain', 'agent_id', 'instance_index'],
];

/** The name of an instance in the director's records; `id` is its id in the director. */
export const dnsNameOf = ({ request: { group, deployment }, id }: ScriptedVm): string =>
  `${id}.${group}.default.${deployment}.bosh`;

/**
 * Returns the blob that sync_dns sends (bosh-director: dns/dns_records.rb). As with the defaults of a
 * director, names have the instance's id and not its index. The domain of the aliases stands for one of cf.
 */
export function dnsBlob(vms: readonly ScriptedVm[], version: number): Buffer {
  const groups = [...new Set(vms.map(({ request }) => request.group))];
  const infos = vms.map((vm, number) => {
    const { group, deployment, address, index } = vm.request;
    const ids = { number: `${number + 1}`, groups: [`${groups.indexOf(group) + 1}`] };
    const place = ['z1', '1', 'default', '1', deployment, address, 'bosh'];
    return [vm.id, ids.number, group, ids.groups, ...place, vm.agentId, index];
  });
  const target = { root_domain: 'bosh', group_id: '1', health_filter: null };
  const others = { initial_health_check: null, placeholder_type: null };
  return Buffer.from(
    JSON.stringify({
      records: vms.map((vm) => [vm.request.address, dnsNameOf(vm)]),
      version,
      record_keys: recordKeys,
      record_infos: infos,
      aliases: { 'hello.service.internal': [{ ...target, ...others }] },
    }),
  );
}
