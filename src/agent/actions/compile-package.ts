import type { Field } from '../../platform/field.ts';
import { multiDigestOfFile } from '../blob/digest.ts';
import { requireSignedUrl } from '../blob/signed-url.ts';
import {
  compilePackage,
  type CompilationPorts,
  type CompilationRequest,
} from '../compile/compile-package.ts';
import { parsePackages, parsePathElement, type SpecFile } from '../apply/spec.ts';
import { type Action, argument } from './action.ts';

export interface CompilePackageOptions extends CompilationPorts {
  readonly specFile: SpecFile;
}

/** `compile_package [blob id, digest, name, version, dependencies]` -> `{result: {blobstore_id, sha1}}`. */
export function compilePackageAction(options: CompilePackageOptions): Action {
  return {
    mode: 'asynchronous',
    cancellable: true,
    async run(args, signal) {
      const source = {
        blobId: argument(args, 0, 'blob id').nonEmptyString(),
        digest: argument(args, 1, 'digest').nonEmptyString(),
        name: parsePathElement(argument(args, 2, 'name')),
        version: argument(args, 3, 'version').nonEmptyString(),
      };
      const request = await requestOf(options, source, argument(args, 4, 'dependencies'));
      const { id, sha1 } = await compilePackage(
        options,
        request,
        (fill) => options.blobs.store(fill),
        signal,
      );
      return { result: { blobstore_id: id, sha1 } };
    },
  };
}

/**
 * `compile_package_with_signed_url [{package_get_signed_url, upload_signed_url, digest, name, version, deps,
 * blobstore_headers}]` -> `{result: {sha1}}`, with SHA-1 and SHA-512 (bosh-agent:
 * agent/action/compile_package_with_signed_url.go).
 */
export function compilePackageWithSignedUrl(options: CompilePackageOptions): Action {
  return {
    mode: 'asynchronous',
    cancellable: true,
    async run(args, signal) {
      const field = argument(args, 0, 'request');
      const headers = field.get('blobstore_headers');
      const source = {
        signed: requireSignedUrl(field.get('package_get_signed_url'), headers),
        digest: field.get('digest').nonEmptyString(),
        name: parsePathElement(field.get('name')),
        version: field.get('version').nonEmptyString(),
      };
      const target = requireSignedUrl(field.get('upload_signed_url'), headers);
      const request = await requestOf(options, source, field.get('deps'));
      const sha1 = await compilePackage(
        options,
        request,
        (fill) => options.blobs.upload(target, fill, multiDigestOfFile),
        signal,
      );
      return { result: { sha1 } };
    },
  };
}

const requestOf = async (
  { specFile }: CompilePackageOptions,
  source: CompilationRequest['source'],
  dependencies: Field,
): Promise<CompilationRequest> => ({
  source,
  dependencies: parsePackages(dependencies),
  applied: await specFile.read(),
});
