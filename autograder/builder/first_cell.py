"""The first cell of every notebook: it installs the labkit of the notebook's lab.

The builder copies what stands below and adds the call. It runs before there is a labkit, so it uses
the standard library alone; it is one function, so that no answer comes to rest on its imports. Its
syntax is that of Python 3.8, so that an old Python can say that it is too old.
"""


# @title Run this cell first: it installs labkit for this lab
def install_labkit(lab, address, key, wheels, python, torch):
    import sys

    class Stop(Exception):
        def _render_traceback_(self):  # the notebook shows the sentences alone
            return [str(self)]

    if sys.version_info < python:
        found, needed = (".".join(map(str, each)) for each in (sys.version_info[:3], python))
        old = f"This notebook runs on Python {found}, and the labs need Python {needed} or newer."
        raise Stop(f"{old} Install one, then begin as README.txt in the zip of the lab says.")
    import contextlib, hashlib, importlib.metadata, importlib.util, json, shutil
    import subprocess, threading, time
    from pathlib import Path
    from urllib.request import quote, urlopen

    def installed(name):
        return next((each.version for each in importlib.metadata.distributions(name=name)), "")

    def revision(edition):
        return int("0" + edition.partition(f"+lab{lab}.")[2].partition(".")[0])

    def is_signed(wheels, signature):  # RSA: only who has the course's secret key can make one
        digest = hashlib.sha256(json.dumps(wheels).encode()).hexdigest()
        number = pow(int(signature or "0", 16), 65537, int(key or "1", 16))
        sha256 = "3031300d060960864801650304020105000420"  # so PKCS #1 says which digest it is
        return f"{number:x}" == "1" + "ff" * 202 + "00" + sha256 + digest

    def restart():
        if in_colab:
            get_ipython().kernel.do_shutdown(True)
            raise Stop("This session restarts by itself. Then run all cells again.")
        raise Stop("Restart the kernel, then run all cells again: labkit changes.")

    def pip(*what):  # shows the seconds and what pip does; returns its errors
        options = ["--progress-bar=off", "--no-color"]
        options += ["--no-compile"]  # Python compiles what it imports
        command = [sys.executable, "-m", "pip", "install", *options, *what]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        run = subprocess.Popen(command, text=True, errors="replace", **pipes)
        said, start_s = [""], time.time()
        read = threading.Thread(target=lambda: [said.append(line.strip()) for line in run.stdout])
        read.start()
        while read.is_alive():
            read.join(1)
            print(f"\r{time.time() - start_s:4.0f} s  {said[-1][:80]:80}", end="", flush=True)
        print()
        errors = [line for line in said if line.lower().startswith("error")] or said[-1:]
        return " ".join(errors) if run.wait() else ""

    in_colab, here = "google.colab" in sys.modules, installed("labkit")
    spec = importlib.util.find_spec("labkit")
    folder = Path(spec.origin).parent if spec and spec.origin else None
    home = (
        folder and "+" in here and importlib.metadata.distribution("labkit").locate_file("labkit")
    )
    if folder != home:  # what Python imports is no installed edition
        return print(f"labkit runs from its source in {folder}.")

    def order(wheels):
        return revision(wheels["labkit"][0]), wheels["labkit"][1] > ""

    wanted, listed = wheels, f"labkit-lab{lab}.json"
    lists = [path.read_bytes for path in Path().glob(f"labkit-lab{lab}*.json")]
    if key:
        lists.append(lambda: urlopen(f"{address}/{listed}", timeout=5).read(9999))
    pins_nothing = not (key or wheels["labkit"][1])
    for read in lists:
        with contextlib.suppress(Exception):  # a list is good for news alone
            news = json.loads(read())
            newer, signature = news["wheels"], news["signature"]
            if newer == wanted or order(newer) < order(wanted):
                continue
            is_known = newer.keys() == wheels.keys() and order(newer) > order(wanted)
            if is_known and (pins_nothing or is_signed(newer, signature)):
                wanted = newer
            else:
                print(f"{listed} is not used: the course has not signed what it names.")
    missing = [name for name in wanted if not installed(name).startswith(wanted[name][0])]
    if not missing or revision(here) > revision(wanted["labkit"][0]):
        return print(f"labkit {here} is ready.")
    if "labkit" in sys.modules:
        restart()
    sources = []
    beside = {hashlib.sha256(path.read_bytes()).hexdigest(): path for path in Path().glob("*.whl")}
    for name in missing:
        edition, sha256 = wanted[name]
        file = Path(f"{name}-{edition}-py3-none-any.whl").resolve()
        others = sorted(path.name for path in Path().glob(f"{name}-*.whl"))
        if sha256 in beside:
            if beside[sha256].name != file.name:  # a browser wrote " (1)" into it
                beside[sha256].replace(file)
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
    print("Installing labkit and what it needs. The first time, this can take some minutes.")
    if not importlib.util.find_spec("pip"):  # as in an environment that uv made
        subprocess.run([sys.executable, "-m", "ensurepip"], capture_output=True)
    has_page = in_colab or installed("ipywidgets")
    torch = [] if installed("torch") else [torch]
    has_gpu = shutil.which("nvidia-smi") or Path("/dev/nvidiactl").exists()
    if torch and sys.platform == "linux" and not has_gpu:
        print("There is no NVIDIA GPU here. First comes PyTorch for the CPU, which is smaller:")
        if pip(*torch, "--index-url=https://download.pytorch.org/whl/cpu"):
            print("That did not work. The usual PyTorch comes instead: it needs 6 GB of disk.")
    error = pip(*sources, *torch)
    if torch and "torch" in error:  # it may not be there for this Python: any other will do
        error = pip(*sources)
    if error:
        raise Stop(
            "pip could not install labkit. Check the network, then run this cell again. "
            f"If that does not help, show this line to the course staff: {error}"
        )
    importlib.invalidate_caches()
    for each in importlib.metadata.distributions(name="labkit"):
        if each.version != wanted["labkit"][0]:  # pip removes none outside of a shared environment
            shutil.rmtree(each.locate_file(f"labkit-{each.version}.dist-info"), ignore_errors=True)
    if not importlib.util.find_spec("labkit"):
        restart()
    if not has_page:
        print("Reload this page in the browser once: sliders and players appear after that.")
    other = here.partition("+lab")[2][:2]
    if other not in ("", lab):
        print(f"It replaces the labkit of lab {other}. Before you go on in that notebook, restart")
        print("its kernel and run its first cell.")
    is_newer = 0 < revision(here) < revision(installed("labkit"))
    newer = " It is a newer edition of this lab." if is_newer else ""
    print(f"labkit {installed('labkit')} is installed.{newer}")
