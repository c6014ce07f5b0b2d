import type { ErrorCode } from '../../errors/error-table.ts';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import { cpiCallError, type CpiRunner } from './cpi-runner.ts';

type Properties = Readonly<Record<string, unknown>>;

interface CpiInfo {
  /** 1 if the CPI reports no version. Versions 3 and later are used as 2. */
  readonly apiVersion: number;
  readonly stemcellFormats: readonly string[];
}

export interface CreateVmArguments {
  readonly agentId: string;
  readonly stemcellCid: string;
  readonly cloudProperties: Properties;
  readonly networks: Properties;
  readonly diskCids: readonly string[];
  readonly env: Properties;
}

/**
 * The CPI methods that the deployer uses (bosh-cli cloud/cloud.go). Errors have the codes VM_NOT_FOUND,
 * DISK_NOT_FOUND, STEMCELL_NOT_FOUND, NOT_IMPLEMENTED and NOT_SUPPORTED if the CPI reports these types,
 * otherwise CPI_ERROR or CPI_FAILED.
 */
export interface CpiClient {
  /** Calls the CPI once in a run. */
  info(): Promise<CpiInfo>;
  createStemcell(imagePath: string, cloudProperties: Properties): Promise<string>;
  deleteStemcell(cid: string): Promise<void>;
  createVm(vm: CreateVmArguments): Promise<string>;
  /**
   * Rejects if create_vm would fail after the VM `previousVmCid` was deleted, or if the cloud has a VM
   * or a disk with the deployment, instance group and index of `metadata`. Returns one sentence for each
   * property that the CPI could not check. Only our CPI has this method (docs/cpi/vms.md). With another
   * CPI nothing is checked, and the result is empty.
   */
  checkVm(
    vm: CreateVmArguments,
    previousVmCid: string | undefined,
    metadata: Properties | undefined,
  ): Promise<readonly string[]>;
  /**
   * Returns why the VM's container does not run and what to do about it, or undefined if it runs. Only our
   * CPI has this method. With another CPI the result is undefined.
   */
  describeVm(cid: string): Promise<string | undefined>;
  deleteVm(cid: string): Promise<void>;
  hasVm(cid: string): Promise<boolean>;
  /** Returns undefined if the CPI does not have the method. */
  hasDisk(cid: string): Promise<boolean | undefined>;
  setVmMetadata(cid: string, metadata: Properties): Promise<void>;
  createDisk(size: number, cloudProperties: Properties, vmCid: string): Promise<string>;
  deleteDisk(cid: string): Promise<void>;
  /** Returns the disk hint, which is any JSON value. */
  attachDisk(vmCid: string, diskCid: string): Promise<unknown>;
  detachDisk(vmCid: string, diskCid: string): Promise<void>;
  setDiskMetadata(cid: string, metadata: Properties): Promise<void>;
}

export interface CloudOptions {
  readonly run: CpiRunner;
  readonly directorId: string;
  readonly stemcellApiVersion: number;
}

const highestApiVersion = 2;

export function createCloud({ run, directorId, stemcellApiVersion }: CloudOptions): CpiClient {
  const context = { director_uuid: directorId, vm: { stemcell: { api_version: stemcellApiVersion } } };
  const request = async (method: string, args: readonly unknown[], apiVersion: number): Promise<unknown> => {
    const { result, error } = await run({ method, arguments: args, context, api_version: apiVersion });
    if (error !== undefined) throw cpiCallError(method, error);
    return result;
  };
  let infoCall: Promise<CpiInfo> | undefined;
  const info = (): Promise<CpiInfo> => (infoCall ??= requestInfo(request));
  const call = async (method: string, ...args: unknown[]): Promise<unknown> =>
    request(method, args, (await info()).apiVersion);
  const callVoid = async (method: string, ...args: unknown[]): Promise<void> =>
    void (await call(method, ...args));
  const cid = async (method: string, ...args: unknown[]): Promise<string> =>
    expectCid(method, await call(method, ...args));

  return {
    info,
    createStemcell: (imagePath, cloudProperties) => cid('create_stemcell', imagePath, cloudProperties),
    deleteStemcell: (stemcell) => callVoid('delete_stemcell', stemcell),
    createVm: async (vm) => {
      const result = await call('create_vm', ...vmArguments(vm));
      return expectCid('create_vm', Array.isArray(result) ? result[0] : undefined, result);
    },
    checkVm: async (vm, previousVmCid, metadata) => {
      const previous = [previousVmCid ?? null, ...(metadata === undefined ? [] : [metadata])];
      const checked = call('check_vm', ...vmArguments(vm), ...previous);
      const result = (await unlessUnknown(checked, ['NOT_IMPLEMENTED', 'NOT_SUPPORTED'])) ?? [];
      if (!isTextList(result)) throw unexpected('check_vm', result);
      return result;
    },
    describeVm: async (vm) => {
      const described = call('describe_vm', vm);
      const result = await unlessUnknown(described, ['NOT_IMPLEMENTED', 'NOT_SUPPORTED']);
      return typeof result === 'string' ? result : undefined;
    },
    deleteVm: (vm) => callVoid('delete_vm', vm),
    hasVm: async (vm) => expectBoolean('has_vm', await call('has_vm', vm)),
    hasDisk: async (disk) => {
      const result = await unlessNotImplemented(call('has_disk', disk));
      return result === undefined ? undefined : expectBoolean('has_disk', result);
    },
    setVmMetadata: (vm, metadata) => unlessNotImplemented(callVoid('set_vm_metadata', vm, metadata)),
    createDisk: (size, cloudProperties, vm) => cid('create_disk', size, cloudProperties, vm),
    deleteDisk: (disk) => callVoid('delete_disk', disk),
    attachDisk: (vm, disk) => call('attach_disk', vm, disk),
    detachDisk: (vm, disk) => callVoid('detach_disk', vm, disk),
    setDiskMetadata: (disk, metadata) => unlessNotImplemented(callVoid('set_disk_metadata', disk, metadata)),
  };
}

async function requestInfo(
  request: (method: string, args: readonly unknown[], apiVersion: number) => Promise<unknown>,
): Promise<CpiInfo> {
  const result = await request('info', [], 1).catch((error: unknown) => {
    if (error instanceof ProductError && error.code === 'NOT_IMPLEMENTED') return { stemcell_formats: [] };
    throw error;
  });
  if (typeof result !== 'object' || result === null) throw unexpected('info', result);
  const { api_version: apiVersion = 1, stemcell_formats: formats } = result as Properties;
  if (typeof apiVersion !== 'number' || !isTextList(formats)) throw unexpected('info', result);
  return { apiVersion: Math.min(apiVersion, highestApiVersion), stemcellFormats: formats };
}

const vmArguments = (vm: CreateVmArguments): readonly unknown[] => [
  vm.agentId,
  vm.stemcellCid,
  vm.cloudProperties,
  vm.networks,
  vm.diskCids,
  vm.env,
];

const unlessNotImplemented = <T>(call: Promise<T>): Promise<T | undefined> =>
  unlessUnknown(call, ['NOT_IMPLEMENTED']);

async function unlessUnknown<T>(call: Promise<T>, codes: readonly ErrorCode[]): Promise<T | undefined> {
  return call.catch((error: unknown) => {
    if (isProductError(error) && codes.includes(error.code)) return undefined;
    throw error;
  });
}

function expectBoolean(method: string, result: unknown): boolean {
  if (typeof result !== 'boolean') throw unexpected(method, result);
  return result;
}

function expectCid(method: string, cid: unknown, result = cid): string {
  if (typeof cid !== 'string' || cid === '') throw unexpected(method, result);
  return cid;
}

function unexpected(method: string, result: unknown): ProductError {
  return new ProductError(
    'CPI_FAILED',
    `Unexpected external CPI command result of '${method}': '${JSON.stringify(result)}'`,
  );
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string');
}
