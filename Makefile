# Every target sets itself up: it needs python3 (3.11 or newer) with venv and pip, make and git.
VENV   := .venv
PYTHON := $(VENV)/bin/python
BASE   := python3
READY  := $(VENV)/.ready

unexport PYTHONDONTWRITEBYTECODE  # else each of hundreds of processes compiles the same files

.PHONY: demo style test test-rest test-long test-oldest test-newest lab build bench fuzz figures image dist clean

SECONDS ?= 60

demo: $(READY)  ## build the course, grade the sample class, compare with the marks it should get
	$(PYTHON) -m tests.sample_class.demo

# Memory of large arrays is kept for the next ones: to get it anew costs a twentieth of the time.
KEEP  = MALLOC_MMAP_THRESHOLD_=1000000000 MALLOC_TRIM_THRESHOLD_=4000000000
TESTS = $(KEEP) OMP_NUM_THREADS=1 $(PYTHON) -m pytest -n 3 --dist loadscope --no-loadscope-reorder
# A test that hangs says where, and fails; the long ones take longer than this.
SOON  = -o faulthandler_timeout=600 -o faulthandler_exit_on_timeout=true

style: $(READY)  ## what the linter finds
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

test: style $(VENV)/.browser  ## each claim on some labs, answers or pages; with LAB=04, all of one lab
	$(TESTS) $(SOON) $(if $(LAB),--lab $(LAB) -m "not long",-m "not slow")

test-rest: $(VENV)/.browser  ## the same claims on all others, and those that take long
	$(TESTS) $(SOON) -m "slow and not long"

test-long: style $(VENV)/.browser  ## all tests, a longer search, experiments as large as students'
	$(TESTS) --large --hypothesis-profile=long $(if $(LAB),--lab $(LAB))

# As a student has it: JupyterLab, and what the first cell installs. $(1): the venv.
define AS_INSTALLED
	$(BASE) -m venv --clear $(1)
	$(1)/bin/python -m pip install --quiet jupyterlab
	OMP_NUM_THREADS=1 $(PYTHON) -m pytest -v tests/browser/as_installed.py --venv $(1)
endef

test-oldest: export PIP_CONSTRAINT = $(CURDIR)/constraints-oldest.txt
test-oldest: $(VENV)/.browser  ## the solved notebooks as students install them, oldest versions; 3 GB
	$(call AS_INSTALLED,.venv-oldest)
	$(PYTHON) tests/browser/played.py .venv-oldest

test-newest: $(VENV)/.browser  ## the same with the newest versions, which it writes down; 6 GB
	$(call AS_INSTALLED,.venv-newest)
	$(PYTHON) tests/browser/played.py .venv-newest constraints-newest.txt

lab: $(READY)  ## JupyterLab on the student notebooks
	$(VENV)/bin/jupyter lab --notebook-dir=notebooks

build: $(READY)  ## student notebooks in place; instructor notebooks and wheels below build/
	$(PYTHON) -m autograder build

.PHONY: site
site: $(READY)  ## the web site of the project, below build/site; docs/site.md says how to publish it
	rm -rf build/site
	$(PYTHON) -m autograder.builder.website build/site

.PHONY: slides
slides: $(READY)  ## the labs as slides for the lecture, below build/slides; docs/lecturers.md
	$(PYTHON) -m autograder.builder.slides build/slides

bench: $(READY)  ## cost of grading, speed of pair, serving and engine; with QUICK=1 at the smallest sizes
	$(PYTHON) -m benchmarks $(if $(QUICK),--quick)

fuzz: $(READY)  ## what reads hostile bytes, each part for SECONDS; guided by coverage where atheris installs
	-$(PYTHON) -m pip install --quiet --constraint constraints.txt atheris
	$(PYTHON) tests/fuzz $(SECONDS)

figures: $(READY)  ## redraw every figure of the labs from data/results into build/figures
	$(PYTHON) -m labkit figures data/results build/figures

image:  ## a container that grades: on macOS, on Windows, or where the system's Python is too old
	docker build --file Containerfile --tag labkit .

dist: $(READY)  ## sdist and wheel of the whole project, below build/dist
	$(PYTHON) -m pip install --quiet build setuptools
	$(PYTHON) -m build --no-isolation --outdir build/dist

clean:
	rm -rf build $(VENV)

$(READY): pyproject.toml constraints.txt
	@$(BASE) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "This needs Python 3.11 or newer. If you have one, give its command: make BASE=python3.12")'
	$(BASE) -m venv --clear $(VENV)
	$(PYTHON) -m pip install --quiet --constraint constraints.txt --editable '.[grade,cluster,dev,triton]'
	touch $@

$(VENV)/.browser: $(READY)
	$(PYTHON) tests/browser/install.py
	touch $@
