"""The first cell of every notebook: it installs the labkit of the notebook's lab.

The builder copies what stands below and adds the call. It runs before there is a labkit, so it uses
the standard library alone; it is one function, so that no answer comes to rest on its imports.
"""


# @title Run this cell first: it installs labkit for this lab
def install_labkit(lab, address, wheels):
    import contextlib, hashlib, importlib.metadata, importlib.util, json, shutil
    import subprocess, sys
    from pathlib import Path
    from urllib.request import quote, urlopen

    class Stop(Exception):
        def _render_traceback_(self):  # the notebook shows the sentences alone
            return [str(self)]

    def installed(name):
        return next((each.version for each in importlib.metadata.distributions(name=name)), "")

    def revision(edition):
        return int("0" + edition.partition(f"+lab{lab}.")[2].partition(".")[0])

    def restart():
        if in_colab:
            get_ipython().kernel.do_shutdown(True)
            raise Stop("This session restarts by itself. Then run all cells again.")
        raise Stop("Restart the kernel, then run all cells again: labkit changes.")

    in_colab, here = "google.colab" in sys.modules, installed("labkit")
    spec = importlib.util.find_spec("labkit")
    folder = Path(spec.origin).parent if spec and spec.origin else None
    home = (
        folder and "+" in here and importlib.metadata.distribution("labkit").locate_file("labkit")
    )
    if folder != home:  # what Python imports is no installed edition
        return print(f"labkit runs from its source in {folder}.")
    wanted, listed = wheels, f"labkit-lab{lab}.json"
    for read in (Path(listed).read_bytes, lambda: urlopen(f"{address}/{listed}", timeout=5).read()):
        with contextlib.suppress(Exception):  # a list is good for news alone
            news = json.loads(read())
            wanted = max(news, wanted, key=lambda each: revision(each["labkit"][0]))
    missing = [name for name in wanted if not installed(name).startswith(wanted[name][0])]
    if not missing or revision(here) > revision(wanted["labkit"][0]):
        return print(f"labkit {here} is ready.")
    if "labkit" in sys.modules:
        restart()
    sources = []
    for name in missing:
        edition, sha256 = wanted[name]
        file = Path(f"{name}-{edition}-py3-none-any.whl").resolve()
        others = sorted(path.name for path in Path().glob(f"{name}-*.whl"))
        if file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == sha256:
            sources.append(str(file))
        elif address and sha256:
            sources.append(f"{address}/wheels/{quote(file.name)}#sha256={sha256}")
        else:
            why = f"The labkit of lab {lab} is not installed."
            if file.is_file():
                why = f"{file.name} beside this notebook is cut off or of another course."
            elif others:
                why = f"{others[-1]} beside this notebook is of another lab, edition or course."
            put = f"Put its two .whl files and {listed} into {Path.cwd()}"
            if in_colab:
                put = f"Click the folder symbol on the left, upload its two .whl files and {listed}"
            raise Stop(f"{why} Unpack the zip of lab {lab}. {put}, then run this cell again.")
    print("Installing labkit. The first time, this can take some minutes.")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, *sources], capture_output=True, text=True, errors="replace")
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or [""]
        error = [line for line in said if line.lower().startswith("error")] or said
        raise Stop(
            "pip could not install labkit. Check the network, then run this cell again. "
            f"If that does not help, show this line to the course staff: {error[-1]}"
        )
    importlib.invalidate_caches()
    for each in importlib.metadata.distributions(name="labkit"):
        if each.version != wanted["labkit"][0]:  # pip removes none outside of a shared environment
            shutil.rmtree(each.locate_file(f"labkit-{each.version}.dist-info"), ignore_errors=True)
    if not importlib.util.find_spec("labkit"):
        restart()
    is_newer = 0 < revision(here) < revision(installed("labkit"))
    newer = " It is a newer edition of this lab." if is_newer else ""
    print(f"labkit {installed('labkit')} is installed.{newer}")
