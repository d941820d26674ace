"""What serving takes on real GPUs, as rows of a record.

`sizes` says how far each sweep goes. `costs` times passes: of prompts, of running requests, of
both. `link` times a request's KV cache on its way to another GPU; `peer` is the process at its
other end. `overlap` times passes while a cache comes or goes, and a request that changes its GPU.
"""
