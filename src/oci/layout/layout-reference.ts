import { imageInvalid, isRecord, parseObject } from '../blob/parse-descriptor.ts';
import { layoutPaths, referenceName } from './layout-paths.ts';
import { readDocument } from './open-layout.ts';

/** The name of the one image in a layout. IMAGE_INVALID where it has several, or none with a name. */
export async function layoutReference(directory: string): Promise<string> {
  const path = layoutPaths.index(directory);
  const manifests = parseObject(await readDocument(path), `'${path}'`)['manifests'];
  const names = (Array.isArray(manifests) ? manifests : []).map((entry: unknown) => {
    const annotations = isRecord(entry) ? entry['annotations'] : undefined;
    return isRecord(annotations) ? annotations[referenceName] : undefined;
  });
  const [name, ...others] = names;
  if (typeof name === 'string' && others.length === 0) return name;
  throw imageInvalid(`'${path}' does not hold one image with a name (annotation ${referenceName})`);
}
